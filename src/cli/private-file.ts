// Files that hold payloads are readable by their owner alone, whatever the umask is.

import { closeSync, fchmodSync, fstatSync, openSync, writeFileSync } from "node:fs";

const OWNER_ONLY = 0o600;

/** Writes the text to a new file, or over an existing one, whose mode is changed before the text is in it. */
export function writePrivately(file: string, text: string): void {
  const handle = openSync(file, "w", OWNER_ONLY);
  try {
    if (fstatSync(handle).isFile()) fchmodSync(handle, OWNER_ONLY); // not a pipe or a device
    writeFileSync(handle, text);
  } finally {
    closeSync(handle);
  }
}
