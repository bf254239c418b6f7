# SPDX-License-Identifier: Apache-2.0
eval `nettopo hint --pattern ring --format csh`
setenv MASTER_ADDR `echo $NETTOPO_NODE_ORDER | cut -d, -f1`
if ($NETTOPO_GAIN == "" || $NETTOPO_FINDINGS:q == "none") exit 1
srun rank.py
