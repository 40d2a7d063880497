// The trace of an instance, for a link from the span of a received call. Read only if there is telemetry.

import type { Client } from "../client/client.ts";

/** Undefined: the instance has no trace, or it cannot be read. The call has succeeded or failed without it. */
export async function traceParentOf(client: Client, id: string): Promise<string | undefined> {
  try {
    const [first] = await client.get(id).history({ limit: 1 });
    return first?.kind === "OrchestrationStarted" ? first.traceParent : undefined;
  } catch {
    return undefined;
  }
}
