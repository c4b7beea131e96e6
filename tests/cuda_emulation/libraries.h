/* What the emulated libraries share. */
#ifndef CS_TESTS_LIBRARIES_H
#define CS_TESTS_LIBRARIES_H

/* Whether this call is the one that emulate_library_failure has asked to fail. */
bool library_fails();

/* A place that the caller must give back. */
template <typename T> T handle_of()
{
    return reinterpret_cast<T>(new int(1));
}

template <typename T> void forget(T handle)
{
    delete reinterpret_cast<int *>(handle);
}
#endif
