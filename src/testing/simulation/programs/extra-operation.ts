// Extra operation: an additional operation of random programs, defined outside this folder, such as running
// a flow.

import type { OrchestrationContext } from "../../../core/context/types.ts";
import type { Definition } from "../../../core/define/registrable.ts";
import type { SeededRandom } from "../world/seeded-random.ts";
import type { SimulatedProcess } from "../world/machine.ts";
import type { Expected } from "./expected.ts";

/** A custom operation of the random programs. */
export interface ExtraOperation {
  readonly name: string;
  /** Draws the parameters of one occurrence, as data. */
  draw(random: SeededRandom): unknown;
  /** Returns what a process registers for the operation. */
  register(process: SimulatedProcess): readonly Definition[];
  run(ctx: OrchestrationContext, data: unknown): Promise<unknown>;
  expected(data: unknown): Expected;
  /** The longest time that the operation takes without faults. */
  longestMs(data: unknown): number;
}
