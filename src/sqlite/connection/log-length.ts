// Log length: how much of the log (-wal) is in use. The size of the file does not show it, because a log that
// restarts overwrites the file from its start.
//   - The header of the log and each frame contain the salt of the last restart. Frames with an older salt
//       follow the frames in use, so a binary search finds the last frame in use.
//   - The log has no POSIX locks, so opening and closing it here is harmless.

import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const HEADER_BYTES = 32;
const PAGE_SIZE_AT = 8;
const SALT_AT = 16;
const FRAME_HEADER_BYTES = 24;
const FRAME_SALT_AT = 8;
const SALT_BYTES = 8;

export interface LogLength {
  /** Another value after each restart of the log. */
  readonly salt: string;
  readonly frames: number;
  readonly frameBytes: number;
}

/** Null: the log is empty. */
export function readLogLength(path: string): LogLength | null {
  const descriptor = openSync(path, "r");
  try {
    const header = read(descriptor, HEADER_BYTES, 0);
    if (header === null) return null;
    const frameBytes = FRAME_HEADER_BYTES + header.readUInt32BE(PAGE_SIZE_AT);
    const salt = header.toString("hex", SALT_AT, SALT_AT + SALT_BYTES);
    const isInUse = (frame: number): boolean => {
      const at = HEADER_BYTES + frame * frameBytes + FRAME_SALT_AT;
      return read(descriptor, SALT_BYTES, at)?.toString("hex") === salt;
    };
    let frames = 0;
    let end = Math.floor((fstatSync(descriptor).size - HEADER_BYTES) / frameBytes);
    while (frames < end) {
      const middle = (frames + end) >> 1;
      if (isInUse(middle)) frames = middle + 1;
      else end = middle;
    }
    return { salt, frames, frameBytes };
  } finally {
    closeSync(descriptor);
  }
}

function read(descriptor: number, bytes: number, at: number): Buffer | null {
  const buffer = Buffer.alloc(bytes);
  return readSync(descriptor, buffer, 0, bytes, at) === bytes ? buffer : null;
}
