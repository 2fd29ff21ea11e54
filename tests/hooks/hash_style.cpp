// SPDX-License-Identifier: Apache-2.0
// A library with some functions and a variable, for loaded_symbol_test.cpp.
extern "C" {
int hash_style_variable = 1;
int hash_style_first() { return 1; }
int hash_style_second() { return 2; }
int hash_style_third() { return 3; }
int hash_style_fourth() { return 4; }
int hash_style_fifth() { return 5; }
}
