// The agent example as a real process in a folder of its own, and what can be seen of it from outside.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { AgentResult, AgentStatus } from "../../examples/agent/protocol.ts";
import { type Handle, type HistoryEvent, type InstanceInfo } from "../../src/index.ts";
import { projectRoot } from "../support/source-files.ts";
import { fileStore, temporaryFolder, until } from "../trouble/support.ts";

const PROGRAM = join(projectRoot, "examples/agent/main.ts");
/** Activities that change the world. */
export const EFFECTS = ["append", "write", "delete", "post"];

/** What is known of the conversation at one moment. */
export interface Sight {
  readonly status: AgentStatus | undefined;
  readonly info: InstanceInfo;
  /** Of the newest execution. */
  readonly history: readonly HistoryEvent[];
}

/** A call of an activity that changes the world, and whether history has its outcome. */
export interface AskedEffect {
  readonly name: string;
  readonly key: string;
  readonly isRecorded: boolean;
}

export class AgentFolder {
  readonly folder: string;
  readonly handle: Handle<AgentResult>;
  readonly #options: readonly string[];

  private constructor(folder: string, handle: Handle, options: readonly string[]) {
    this.folder = folder;
    this.handle = handle as Handle<AgentResult>; // main.ts starts an agent under this id
    this.#options = options;
  }

  static async make(id: string, ...options: readonly string[]): Promise<AgentFolder> {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "docs"));
    writeFileSync(join(folder, "docs", "page.md"), "# Keys\n\nAn idempotency key is for ever.\n");
    const { client } = await fileStore(join(folder, "agent.db"));
    const given = ["--folder", folder, "--docs", join(folder, "docs"), "--id", id, ...options];
    return new AgentFolder(folder, client.get(id), given);
  }

  /** A process that runs until it ends, or is killed; it does not outlive the test. */
  spawn(mode: "script" | "chat" | "worker", ...more: readonly string[]): AgentProcess {
    const child = new AgentProcess([PROGRAM, mode, ...this.#options, ...more]);
    onTestFinished(() => child.kill());
    return child;
  }

  /** Null: there is no such file. */
  file(name: string): string | null {
    const path = join(this.folder, "workspace", name);
    return existsSync(path) ? readFileSync(path, "utf8") : null;
  }
  /** All files of the workspace, by name. */
  files(): Readonly<Record<string, string | null>> {
    const names = globSync("*", { cwd: join(this.folder, "workspace") }).sort();
    return Object.fromEntries(names.map((name) => [name, this.file(name)]));
  }

  /** What the conversation looks like now; null: it has not begun. */
  async see(): Promise<Sight | null> {
    if (!(await this.handle.exists())) return null;
    const info = await this.handle.describe();
    const status = info.customStatus as AgentStatus | undefined; // set by agent.ts alone
    return { status, info, history: await this.handle.history() };
  }

  /** Keys of changes that were made, and of those that were only begun. */
  effects(): { readonly done: readonly string[]; readonly begun: readonly string[] } {
    const marks = globSync("*", { cwd: join(this.folder, "workspace/.agent/effects") });
    const keys = (end: string): string[] =>
      marks.filter((name) => name.endsWith(end)).map((name) => name.slice(0, -end.length));
    return { done: keys(".done"), begun: keys(".intent") };
  }

  /** The changes that the agent has asked for, in order. */
  async asked(): Promise<readonly AskedEffect[]> {
    const asked: AskedEffect[] = [];
    for (const { execution } of await this.handle.executions()) {
      const history = await this.handle.history({ execution });
      const [started] = history;
      const runId = started?.kind === "OrchestrationStarted" ? started.runId : "";
      for (const event of history) {
        if (event.kind !== "ActivityScheduled" || !EFFECTS.includes(event.name)) continue;
        const { name, sequence } = event;
        const isRecorded = history.some(
          (other) => isOutcome(other) && other.scheduled === sequence,
        );
        asked.push({ name, key: `${runId}-${execution}-${sequence}`, isRecorded });
      }
    }
    return asked;
  }

  /** Every run of every activity: its name and key. */
  runs(): readonly { readonly name: string; readonly key: string }[] {
    const lines = (this.file(".agent/runs.log") ?? "").split("\n").filter(Boolean);
    return lines.map((line) => {
      const [name = "", key = ""] = line.split(" ");
      return { name, key };
    });
  }
}

function isOutcome(
  event: HistoryEvent,
): event is Extract<HistoryEvent, { kind: "ActivityCompleted" | "ActivityFailed" }> {
  return event.kind === "ActivityCompleted" || event.kind === "ActivityFailed";
}

export class AgentProcess {
  readonly #child: ChildProcess;
  #output = "";

  constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "pipe"] });
    const listen = (chunk: Buffer): void => void (this.#output += chunk.toString());
    this.#child.stdout?.on("data", listen);
    this.#child.stderr?.on("data", listen);
    this.#child.stdin?.on("error", () => undefined); // killed while it was written to
  }

  get output(): string {
    return this.#output;
  }
  get isGone(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  type(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }
  async says(text: string): Promise<void> {
    await until(`it says "${text}", after: ${this.#output}`, () => this.#output.includes(text));
  }

  /** Waits for its end by itself. */
  async end(): Promise<number | null> {
    if (!this.isGone) await once(this.#child, "exit");
    return this.#child.exitCode;
  }
  /** SIGKILL: no clean-up, no last words. */
  async kill(): Promise<void> {
    if (this.isGone) return;
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exit;
  }
}
