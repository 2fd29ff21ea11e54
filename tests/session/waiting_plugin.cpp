// SPDX-License-Identifier: Apache-2.0
// A library whose initialiser does what the program wants.
extern "C" void in_initialiser();

[[gnu::constructor]] static void initialise() { in_initialiser(); }
