// The agent example as a real process in a separate folder, and what a test can observe of it.

import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentResult, AgentStatus } from "../../../examples/agent/protocol.ts";
import { type Handle, type HistoryEvent, type InstanceInfo } from "../../../src/index.ts";
import { projectRoot } from "../../support/source-files.ts";
import { fileStore, temporaryFolder } from "../../faults/trouble/support.ts";
import { ExampleProcess } from "./example-process.ts";

const PROGRAM = join(projectRoot, "examples/agent/main.ts");
/** Activities with side effects. */
export const EFFECTS = ["append", "write", "delete", "post"];

/** The observed state of the conversation at one time. */
export interface Sight {
  readonly status: AgentStatus | undefined;
  readonly info: InstanceInfo;
  /** The history of the newest execution. */
  readonly history: readonly HistoryEvent[];
}

/** A call of an activity with side effects, and whether history has its outcome. */
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
    writeFileSync(join(folder, "docs", "page.md"), "# Keys\n\nAn idempotency key is forever.\n");
    const { client } = await fileStore(join(folder, "agent.db"));
    const given = ["--folder", folder, "--docs", join(folder, "docs"), "--id", id, ...options];
    return new AgentFolder(folder, client.get(id), given);
  }

  spawn(mode: "script" | "chat" | "worker", ...more: readonly string[]): ExampleProcess {
    return ExampleProcess.spawn([PROGRAM, mode, ...this.#options, ...more]);
  }

  /** The content of a file, or null if it does not exist. */
  file(name: string): string | null {
    const path = join(this.folder, "workspace", name);
    return existsSync(path) ? readFileSync(path, "utf8") : null;
  }
  /** All files of the workspace, by name. */
  files(): Readonly<Record<string, string | null>> {
    const names = globSync("*", { cwd: join(this.folder, "workspace") }).sort();
    return Object.fromEntries(names.map((name) => [name, this.file(name)]));
  }

  /** The current state of the conversation, or null if it has not begun. */
  async see(): Promise<Sight | null> {
    if (!(await this.handle.exists())) return null;
    const info = await this.handle.describe();
    const status = info.customStatus as AgentStatus | undefined; // only agent.ts sets it
    return { status, info, history: await this.handle.history() };
  }

  /** Keys of side effects that are done, and of those that are only begun. */
  effects(): { readonly done: readonly string[]; readonly begun: readonly string[] } {
    const marks = globSync("*", { cwd: join(this.folder, "workspace/.agent/effects") });
    const keys = (end: string): string[] =>
      marks.filter((name) => name.endsWith(end)).map((name) => name.slice(0, -end.length));
    return { done: keys(".done"), begun: keys(".intent") };
  }

  /** The calls of activities with side effects that the agent scheduled, in order. */
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

  /** Name and idempotency key of every run of every activity. */
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
