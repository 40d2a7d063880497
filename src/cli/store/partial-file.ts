// A file that appears under its name only when it is complete.
//   - It is written as `<name>.partial`, a new file that only its owner can read. A hard link gives it its
//        final name, which never overwrites a file, not even one that was created in the meantime.
//   - A file that was not published is removed on disposal and when the process exits.
//   - Its bytes are on disk before it gets its name. The name is on disk when publish() returns.

import {
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname } from "node:path";
import { CliError } from "../exit-codes.ts";

const OWNER_ONLY = 0o600;
/** Files that SQLite keeps next to a database. */
const COMPANIONS = ["-journal", "-wal", "-shm"];
/** Errors of file systems without hard links. */
const NO_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

export class PartialFile implements Disposable {
  readonly path: string;
  readonly #target: string;
  readonly #onExit = (): void => this.#remove();

  /** Refuses a target that exists, or next to which SQLite files of an old database exist. */
  constructor(target: string) {
    this.#target = target;
    this.path = `${target}.partial`;
    const taken = ["", ...COMPANIONS]
      .map((end) => `${target}${end}`)
      .find((each) => existsSync(each));
    if (taken !== undefined) throw exists(taken);
    written(this.path, () => this.#create());
    process.once("exit", this.#onExit);
  }

  publish(): void {
    written(this.#target, () => {
      syncFile(this.path, "r+");
      this.#name();
      if (process.platform !== "win32") syncFile(dirname(this.#target), "r");
    });
  }

  [Symbol.dispose](): void {
    process.off("exit", this.#onExit);
    this.#remove();
  }

  #create(): void {
    let handle: number;
    try {
      handle = openSync(this.path, "wx", OWNER_ONLY);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      const message = `${this.path} already exists: another backup is running or was killed. If no backup is running, delete the file.`;
      throw new CliError("FILE_EXISTS", message);
    }
    try {
      fchmodSync(handle, OWNER_ONLY); // a umask can remove permissions of the owner too
    } finally {
      closeSync(handle);
    }
  }

  #name(): void {
    try {
      linkSync(this.path, this.#target);
    } catch (error) {
      const code = codeOf(error);
      if (code === "EEXIST") throw exists(this.#target);
      if (code === undefined || !NO_LINKS.has(code)) throw error;
      closeSync(openSync(this.#target, "wx", OWNER_ONLY)); // reserves the name
      renameSync(this.path, this.#target);
    }
  }

  #remove(): void {
    for (const end of ["", ...COMPANIONS]) rmSync(`${this.path}${end}`, { force: true });
  }
}

function exists(path: string): CliError {
  return new CliError("FILE_EXISTS", `${path} already exists; nothing was written.`);
}

/** Turns an error of the file system into a CliError with a code. */
function written<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const code = codeOf(error);
    if (error instanceof CliError || code === undefined) throw error;
    if (code === "EEXIST") throw exists(path);
    const why = error instanceof Error ? error.message : code;
    throw new CliError("FILE_UNWRITABLE", `${path} cannot be written: ${why}`, { cause: error });
  }
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

function syncFile(path: string, flags: "r" | "r+"): void {
  const handle = openSync(path, flags);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
