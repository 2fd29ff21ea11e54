// SPDX-License-Identifier: Apache-2.0
// Its precompiled headers are those of all tests (PROF_PRECOMPILE_TEST_HEADERS).
