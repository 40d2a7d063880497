// An extra operation: something that programs do and this folder does not know, such as running a flow.

import type { OrchestrationContext } from "../../../core/context-types.ts";
import type { Definition } from "../../../core/registrable.ts";
import type { Chance } from "../chance.ts";
import type { SimulatedProcess } from "../machine.ts";
import type { Expected } from "./expected.ts";

/** An operation of your own among those of the random programs. */
export interface ExtraOperation {
  readonly name: string;
  /** What this occurrence of it is about, as data. */
  draw(chance: Chance): unknown;
  /** What a process registers for it. */
  register(process: SimulatedProcess): readonly Definition[];
  run(ctx: OrchestrationContext, data: unknown): Promise<unknown>;
  expected(data: unknown): Expected;
  /** How long it takes at most by itself. */
  longestMs(data: unknown): number;
}
