// The code check: replays a copied past with registered code before a repair is written.
//   - A runtime offers its code to the clients of its process (Committer.registeredCode).
//   - code-check.1: A check writes nothing, runs no activity and no step, and logs nothing.

import type { Orchestration } from "../define/definitions.ts";
import type { BlockReason } from "../history/block.ts";
import type { HistoryRow } from "../history/rows.ts";

/** A past that an instance is to continue. */
export interface CopiedPast {
  readonly id: string;
  readonly runId: string;
  readonly execution: number;
  readonly priority: number;
  readonly rows: readonly HistoryRow[];
}

/** Whether the code arrives at the end of the copied past. */
export type PastVerdict =
  | {
      readonly kind: "ok";
      /** The streams that are closed at the end of the past. */
      readonly closedStreams: readonly string[];
    }
  | { readonly kind: "blocked"; readonly reason: BlockReason };

/** The code of a runtime in this process. */
export interface RegisteredCode {
  find(name: string, version: string | null): Orchestration<never, unknown> | undefined;
  replay(past: CopiedPast, definition: Orchestration<never, unknown>): Promise<PastVerdict>;
}
