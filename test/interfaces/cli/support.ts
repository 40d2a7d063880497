// The real program in a separate project, on a real SQLite file.
//   - A project has a package "perdure" that links to the sources, so that its files import it by name.
//   - `run` calls the program in the test process, which takes milliseconds; a new process takes most of a second. Every
//     command also runs as a process: processes.test.ts compares the two.
//   - Every process and every project folder ends with its test.

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { runProgram } from "../../../src/cli/program.ts";
import { Screen } from "../../../src/cli/text/screen.ts";
import { Client } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { projectRoot } from "../../support/source-files.ts";

const MAIN = join(projectRoot, "src/cli/main.ts");
const DEADLINE_MS = 45_000;
/** Commands that start processes, or serve until a signal arrives. */
const PROCESSES: readonly (string | undefined)[] = ["dev", "ui", "worker"];

export interface Ran {
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as JSON; throws if it is not JSON. */
  json<Shape = unknown>(): Shape;
  /** Every line of standard output as JSON. */
  records<Shape = unknown>(): Shape[];
}
export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input. */
  readonly input?: string;
  /** A working directory other than the project folder. */
  readonly cwd?: string;
  /** Whether the program runs as a separate process. */
  readonly asProcess?: boolean;
}
export interface Background {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Waits until one of the outputs matches the pattern that many times; returns the last match. */
  says(pattern: RegExp, times?: number): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<number | NodeJS.Signals>;
}

export class Project {
  readonly folder: string;
  /** The file of its store. */
  readonly file: string;
  /** Whether a file was changed, so that only a new process loads it as it is. */
  #isChanged = false;

  constructor(files: Readonly<Record<string, string>> = {}) {
    this.folder = mkdtempSync(join(tmpdir(), "perdure-cli-"));
    this.file = join(this.folder, "store.db");
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 }));
    const own = { name: "project", type: "module", dependencies: { perdure: "*" } };
    this.write("package.json", JSON.stringify(own));
    const exports = { ".": "./src/index.ts", "./sqlite": "./src/sqlite/index.ts" };
    const linked = { name: "perdure", type: "module", exports };
    this.write("node_modules/perdure/package.json", JSON.stringify(linked));
    symlinkSync(join(projectRoot, "src"), join(this.folder, "node_modules/perdure/src"));
    for (const [path, text] of Object.entries(files)) this.write(path, text);
  }

  write(path: string, text: string): void {
    const full = join(this.folder, path);
    this.#isChanged ||= existsSync(full);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
  }

  /** Runs the program on the project's store and waits for its end. */
  async run(line: string | readonly string[], options: RunOptions = {}): Promise<Ran> {
    const args = wordsOf(line);
    const { asProcess = this.#isChanged || PROCESSES.includes(args[0]) } = options;
    return asProcess ? this.#runAsProcess(args, options) : this.#runHere(args, options);
  }

  async #runAsProcess(args: readonly string[], options: RunOptions): Promise<Ran> {
    const child = this.#spawn(args, options);
    const ended = endOf(child);
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.stdin.on("error", () => undefined); // the program may exit without reading it
    child.stdin.end(options.input ?? "");
    const code = await ended;
    return ranOf(code, stdout, stderr);
  }

  async #runHere(args: readonly string[], { env, input = "", cwd }: RunOptions): Promise<Ran> {
    let [stdout, stderr] = ["", ""];
    const whole = this.#env(env);
    const screen = (write: (text: string) => void) =>
      new Screen({ isTTY: false, columns: 80, write }, whole);
    const stdin = Readable.from(input === "" ? [] : [Buffer.from(input)]);
    const cli = {
      out: screen((text) => (stdout += text)),
      err: screen((text) => (stderr += text)),
      stdin: stdin as unknown as NodeJS.ReadStream, // a pipe
      env: whole,
      cwd: cwd ?? this.folder,
    };
    const code = await inFolder(cli.cwd, () => runProgram(cli, args));
    return ranOf(code, stdout, stderr);
  }

  /** Starts the program in the background. */
  start(line: string | readonly string[], options: RunOptions = {}): Background {
    const child = this.#spawn(line, options);
    const ended = endOf(child);
    const news = new EventTarget();
    const tell = (): void => void news.dispatchEvent(new Event("news"));
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => ((stdout += text), tell()));
    child.stderr.setEncoding("utf8").on("data", (text: string) => ((stderr += text), tell()));
    void ended.then(tell);
    return {
      pid: child.pid ?? 0,
      stdout: () => stdout,
      stderr: () => stderr,
      // On Deno, a ChildProcess reports the signal of its `kill` instead of its exit code.
      kill: (signal) => void process.kill(child.pid ?? 0, signal),
      ended,
      says: async (pattern, times = 1) => {
        const deadline = AbortSignal.timeout(DEADLINE_MS);
        const all = new RegExp(pattern, `${pattern.flags}g`);
        for (;;) {
          const found = [...stdout.matchAll(all), ...stderr.matchAll(all)];
          const last = found[times - 1];
          if (last !== undefined) return last;
          if (deadline.aborted || child.exitCode !== null || child.signalCode !== null) {
            throw new Error(`The output never matched ${String(pattern)}:\n${stdout}\n${stderr}`);
          }
          await once(news, "news", { signal: deadline }).catch(() => undefined);
        }
      },
    };
  }

  /** A library client on the project's store. */
  async client(): Promise<Client> {
    const provider = await SqliteProvider.open(this.file);
    onTestFinished(() => provider.close());
    return new Client(provider);
  }

  #env(env: RunOptions["env"]): NodeJS.ProcessEnv {
    return { ...clean(process.env), PERDURE_STORE: `sqlite:${this.file}`, ...env };
  }

  #spawn(line: string | readonly string[], { env, cwd }: RunOptions) {
    const child = spawn(process.execPath, [MAIN, ...wordsOf(line)], {
      cwd: cwd ?? this.folder,
      env: this.#env(env),
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), DEADLINE_MS);
    onTestFinished(async () => {
      clearTimeout(timer);
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "close");
    });
    return child;
  }
}

function wordsOf(line: string | readonly string[]): readonly string[] {
  return typeof line === "string" ? line.split(" ") : line;
}

let running = 0;
const home = process.cwd();

/** Commands that run at the same time belong to one test, which has one folder. */
async function inFolder<T>(folder: string, action: () => Promise<T>): Promise<T> {
  running += 1;
  process.chdir(folder);
  try {
    return await action();
  } finally {
    running -= 1;
    if (running === 0) process.chdir(home);
  }
}

function ranOf(code: Ran["code"], stdout: string, stderr: string): Ran {
  return {
    code,
    stdout,
    stderr,
    json: <Shape>() => JSON.parse(stdout) as Shape,
    records: <Shape>() =>
      stdout
        .trimEnd()
        .split("\n")
        .map((text) => JSON.parse(text) as Shape),
  };
}

async function endOf(child: ChildProcessWithoutNullStreams): Promise<number | NodeJS.Signals> {
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return code ?? signal ?? 0;
}

/** Removes the test runner's color settings from the environment. */
function clean(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { FORCE_COLOR: _force, NO_COLOR: _no, NODE_ENV: _node, ...rest } = env;
  return rest;
}

/** Repeats the check until it returns true; the timeout of the test bounds it. */
export async function until(isDone: () => Promise<boolean>): Promise<void> {
  while (!(await isDone())) await pause(10);
}

export interface Screens {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program in the test process with a fake terminal: both outputs are terminals, and `typed` is the input. */
export async function runOnTerminal(
  line: string | readonly string[],
  options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv; readonly typed?: string },
): Promise<Screens> {
  let [stdout, stderr] = ["", ""];
  const env = options.env ?? {};
  const screen = (write: (text: string) => void) =>
    new Screen({ isTTY: true, columns: 80, write }, env);
  const stdin = Object.assign(Readable.from([options.typed ?? ""]), { isTTY: true });
  const code = await runProgram(
    {
      out: screen((text) => (stdout += text)),
      err: screen((text) => (stderr += text)),
      stdin: stdin as unknown as NodeJS.ReadStream, // only the part that a prompt reads
      env,
      cwd: options.cwd,
    },
    wordsOf(line),
  );
  return { code, stdout, stderr };
}
