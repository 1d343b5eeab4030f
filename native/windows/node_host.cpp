// On Windows a library names the program whose functions it calls, and node.exe may be called something else: Electron, or
// an application with Node.js inside. The functions are therefore bound at their first call; this hook tells where.
#include <windows.h>

#include <delayimp.h>

static FARPROC WINAPI running_program(unsigned event, PDelayLoadInfo info) {
  if (event != dliNotePreLoadLibrary || lstrcmpiA(info->szDll, "node.exe") != 0) return nullptr;
  return reinterpret_cast<FARPROC>(GetModuleHandleA(nullptr));
}

PfnDliHook __pfnDliNotifyHook2 = running_program;
