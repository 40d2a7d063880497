// Location: what may be opened, looked at before anything is.
//   L1. Nothing is created or changed by looking, and a path that cannot hold a store is named with the reason.
//   L2. A new file is its owner's alone, whatever the umask. SQLite gives -wal and -shm the mode of the file. One that
//       is there keeps the mode that it has.

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
import { PerdureError } from "../core/errors.ts";
import { showValue } from "../core/ids.ts";

export const IN_MEMORY = ":memory:";

/** The absolute path of a store's file, or null for one in memory. */
export function locate(path: string): string | null {
  const given: unknown = path;
  if (typeof given !== "string") {
    const message = `A SQLite store is opened by its path, not ${showValue(given)}.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  if (path === IN_MEMORY) return null;
  if (path === "") throw unfit(path, "the path is empty");
  if (path.includes("\0")) throw unfit(path, "the path holds a zero character");
  const file = resolve(path);
  const folder = dirname(file);
  const folderStats = look(folder);
  if (folderStats === undefined) throw unfit(file, `the directory ${folder} does not exist`);
  if (!folderStats.isDirectory()) throw unfit(file, `${folder} is not a directory`);
  const stats = look(file);
  if (stats === undefined) {
    assertWritable(folder, file, `the directory ${folder} is not writable`);
    return file;
  }
  if (stats.isDirectory()) throw unfit(file, "it is a directory");
  if (!stats.isFile()) throw unfit(file, "it is not a regular file");
  assertWritable(file, file, "it is not writable");
  return file;
}

const OWNERS_ALONE = 0o600;

/** Makes the file, empty, if there is none (L2). */
export function createFile(file: string): void {
  let handle: number;
  try {
    handle = openSync(file, "wx", OWNERS_ALONE);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return;
    throw error;
  }
  try {
    fchmodSync(handle, OWNERS_ALONE); // a umask may take from the owner too
  } finally {
    closeSync(handle);
  }
}

/** Undefined: there is nothing of that name. */
function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw unfit(path, cause instanceof Error ? cause.message : String(cause), cause);
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
