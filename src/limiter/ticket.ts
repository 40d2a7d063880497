// The ticket of a caller that asks with a request.
//   - The engine writes the id of a request: `…-<run id>.<execution>.<number of the call>` (core/replay/outgoing-calls.ts).
//        So the limiter knows which execution asks, and can see later that it has ended.

import type { RequestCall } from "../core/context/types.ts";
import { isRecord, type Admission, type Enter, type Ticket } from "./messages.ts";
import { keyOf } from "./state.ts";

const ASKER = /-([0-9a-f]+)\.(\d+)\.\d+$/;

/** Null: the request did not come from `limiter.run`. */
export function ticketOf(call: RequestCall<Enter, Admission>, askedAt: number): Ticket | null {
  const { id, from } = call;
  const input: unknown = call.input;
  const [, runId, execution] = ASKER.exec(id) ?? [];
  if (from === undefined || runId === undefined) return null;
  if (!isRecord(input) || typeof input["token"] !== "string") return null;
  const token = keyOf({ token: input["token"], id: from.id });
  return { token, id: from.id, runId, execution: Number(execution), askedAt };
}
