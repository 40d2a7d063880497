// Location: checks the path of a store before anything is opened.
//   - Nothing is created or changed by the check. An invalid path raises an error with the reason.
//   - location.1: A new file is readable and writable by its owner only, whatever the umask. SQLite gives
//       -wal and -shm the mode of the file. An existing file keeps its mode.

import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  openSync,
  statSync,
  type Stats,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { PerdureError, errorMessage } from "../../core/errors/errors.ts";
import { showValue } from "../../core/ids/ids.ts";

export const IN_MEMORY = ":memory:";

/** The absolute path of a store's file; null for a store in memory. */
export function locate(path: string): string | null {
  const given: unknown = path;
  if (typeof given !== "string") {
    const message = `The path of a SQLite store must be a string; got ${showValue(given)}.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  if (path === IN_MEMORY) return null;
  if (path === "") throw unfit(path, "the path is empty");
  if (path.includes("\0")) throw unfit(path, "the path contains a NUL character");
  const file = resolve(path);
  const folder = dirname(file);
  const folderStats = statsOf(folder);
  if (folderStats === undefined) throw unfit(file, `the directory ${folder} does not exist`);
  if (!folderStats.isDirectory()) throw unfit(file, `${folder} is not a directory`);
  const stats = statsOf(file);
  if (stats === undefined) {
    assertWritable(folder, file, `the directory ${folder} is not writable`);
    return file;
  }
  if (stats.isDirectory()) throw unfit(file, "it is a directory");
  if (!stats.isFile()) throw unfit(file, "it is not a regular file");
  assertWritable(file, file, "it is not writable");
  return file;
}

const OWNER_ONLY = 0o600;

/** Creates an empty file if none exists (location.1). */
export function createFile(file: string): void {
  let handle: number;
  try {
    handle = openSync(file, "wx", OWNER_ONLY);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return;
    throw error;
  }
  try {
    fchmodSync(handle, OWNER_ONLY); // a umask may remove rights of the owner too
  } finally {
    closeSync(handle);
  }
}

/** Undefined if the path does not exist. */
function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw unfit(path, errorMessage(cause), cause);
  }
}

function assertWritable(path: string, file: string, complaint: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (cause) {
    throw unfit(file, complaint, cause);
  }
}

function unfit(path: string, why: string, cause?: unknown): PerdureError {
  const message = `"${path}" cannot be opened as a store: ${why}.`;
  return new PerdureError("STORE_INVALID", message, cause === undefined ? undefined : { cause });
}
