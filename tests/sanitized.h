/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the address sanitizer is compiled in, by GCC or by Clang: SANITIZED is 1 or 0. */
#ifndef NT_SANITIZED_H
#define NT_SANITIZED_H

#if defined __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
