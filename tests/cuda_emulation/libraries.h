/* Shared by the emulated libraries. */
#pragma once

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
