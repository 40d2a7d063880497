// A file that appears under its name only when it is complete.
//   PF1. It is written as `<name>.partial`, a new file that only its owner can read, and gets its name by a hard link:
//        no existing file is ever overwritten, not even one that appeared meanwhile.
//   PF2. Unless it was published, it is removed when it is disposed of, and when the process exits.
//   PF3. Its bytes are on disk before it has its name, and the name is on disk when publish() returns.

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
import { CliError } from "./exit-codes.ts";

const OWNER_ONLY = 0o600;
/** Files that SQLite keeps next to a database. */
const COMPANIONS = ["-journal", "-wal", "-shm"];
/** Of file systems without hard links. */
const NO_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

export class PartialFile implements Disposable {
  readonly path: string;
  readonly #target: string;
  readonly #onExit = (): void => this.#remove();

  /** Refuses a target that exists, or that would be opened together with the files of an old database. */
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
      const message = `${this.path} exists: another backup is writing it, or was killed. If none is running, delete it.`;
      throw new CliError("FILE_EXISTS", message);
    }
    try {
      fchmodSync(handle, OWNER_ONLY); // a umask may take rights from the owner too
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
  return new CliError("FILE_EXISTS", `${path} exists already; nothing was written.`);
}

/** What the file system refuses has a code, like every other error. */
function written<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const code = codeOf(error);
    if (error instanceof CliError || code === undefined) throw error;
    if (code === "EEXIST") throw exists(path);
    const said = error instanceof Error ? error.message : code;
    throw new CliError("FILE_UNWRITABLE", `${path} cannot be written: ${said}`, { cause: error });
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
