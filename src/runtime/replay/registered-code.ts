// Registered code: the code of this runtime, which clients of the same process use to check a repair.
//   - A check is a replay on the pump of the runtime, with its guards, so that it finds what the next turn would find
//     (code-check.1).

import { errorMessage, isPerdureError } from "../../core/errors/errors.ts";
import type { Orchestration } from "../../core/define/definitions.ts";
import type { HistoryEvent } from "../../core/history/events.ts";
import { decodeHistory } from "../../core/history/rows.ts";
import { verifyRows } from "../../core/history/seal.ts";
import type { CopiedPast, PastVerdict, RegisteredCode } from "../../core/repair/code-check.ts";
import { orchestrationMain } from "../../core/replay/orchestration-main.ts";
import { Run } from "../../core/replay/run.ts";
import type { RuntimeContext } from "../context.ts";
import { CheckJob } from "./check-replay.ts";

type Parts = Pick<RuntimeContext, "registry" | "runOptions" | "pump">;

export class LocalCode implements RegisteredCode {
  readonly #runtime: Parts;

  constructor(runtime: Parts) {
    this.#runtime = runtime;
  }

  find(name: string, version: string | null): Orchestration<never, unknown> | undefined {
    return this.#runtime.registry.orchestration(name, version);
  }

  async replay(past: CopiedPast, definition: Orchestration<never, unknown>): Promise<PastVerdict> {
    const { runOptions, pump } = this.#runtime;
    const { id, execution, priority, rows } = past;
    let history: readonly HistoryEvent[];
    try {
      verifyRows(rows, past, runOptions.codec.rowSeal);
      history = decodeHistory(rows);
    } catch (error) {
      if (!isPerdureError(error)) throw error;
      const code = error.code === "KEY_MISSING" ? error.code : "HISTORY_CORRUPT";
      return { kind: "blocked", reason: { code, message: errorMessage(error) } };
    }
    const run = new Run({
      ...runOptions,
      instanceId: id,
      execution,
      version: definition.version,
      priority,
      main: orchestrationMain(definition),
      history,
      copiedUntil: history.length,
      captureSources: true,
      isShadow: true,
      onMisuse: () => undefined, // the misuse also blocks the run
    });
    await new Promise<void>((resolve) => pump.add(new CheckJob(run, id, () => resolve())));
    if (run.blocked !== null) return { kind: "blocked", reason: run.blocked };
    return { kind: "ok", closedStreams: run.state.closedStreams };
  }
}
