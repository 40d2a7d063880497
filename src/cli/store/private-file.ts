// Writes files that contain payloads. Only their owner can read them, whatever the umask is.

import { closeSync, fchmodSync, fstatSync, openSync, writeFileSync } from "node:fs";

const OWNER_ONLY = 0o600;

/** Writes a new file or overwrites an existing one. Sets the file's mode before it writes the text. */
export function writePrivately(file: string, text: string): void {
  const handle = openSync(file, "w", OWNER_ONLY);
  try {
    if (fstatSync(handle).isFile()) fchmodSync(handle, OWNER_ONLY); // not a pipe or a device
    writeFileSync(handle, text);
  } finally {
    closeSync(handle);
  }
}
