// SPDX-License-Identifier: Apache-2.0
// Which lock guards a field, which locks a function requires, and the order in which locks are taken: checked by clang
// (-Wthread-safety), empty for other compilers.
//
//     session_mutex mutex_;
//     int count_ PROF_GUARDED_BY(mutex_) = 0;
//     void add() PROF_REQUIRES(mutex_);     // the caller holds it
//     int count() PROF_EXCLUDES(mutex_);    // takes it, so the caller must not hold it
//
// The analysis covers one function at a time. It does not analyse constructors and destructors. A lambda is a
// function of its own, which holds nothing unless it is annotated.
#pragma once

#if defined(__clang__)
#define PROF_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define PROF_THREAD_ATTRIBUTE(attribute)
#endif

// Of classes: a lock (`name` is for messages), and an object that holds a lock as long as it lives.
#define PROF_CAPABILITY(name) PROF_THREAD_ATTRIBUTE(capability(name))
#define PROF_SCOPED_CAPABILITY PROF_THREAD_ATTRIBUTE(scoped_lockable)

// Of fields. The second is for what a pointer points to.
#define PROF_GUARDED_BY(lock) PROF_THREAD_ATTRIBUTE(guarded_by(lock))
#define PROF_PT_GUARDED_BY(lock) PROF_THREAD_ATTRIBUTE(pt_guarded_by(lock))

// Of locks: a thread that takes both takes this one first, or last.
#define PROF_ACQUIRED_BEFORE(...) PROF_THREAD_ATTRIBUTE(acquired_before(__VA_ARGS__))
#define PROF_ACQUIRED_AFTER(...) PROF_THREAD_ATTRIBUTE(acquired_after(__VA_ARGS__))

// Of functions. Without arguments the lock is the object itself.
#define PROF_REQUIRES(...) PROF_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define PROF_EXCLUDES(...) PROF_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define PROF_ACQUIRE(...) PROF_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define PROF_RELEASE(...) PROF_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define PROF_TRY_ACQUIRE(...) PROF_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))  // first: what it returns then
#define PROF_RETURN_CAPABILITY(lock) PROF_THREAD_ATTRIBUTE(lock_returned(lock))
