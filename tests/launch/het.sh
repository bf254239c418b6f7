#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
. ./lines.sh
first_component() { MASTER_ADDR=${NETTOPO_NODE_ORDER%%,*} srun --het-group=0 rank.py; }
line het-component 3 first_component
echo end
