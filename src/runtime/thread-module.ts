// The module of a set of threads: what it exports is what the threads can run.
//   MO1. Every exported activity counts, also in an exported list; whatever else is exported is left alone.
//   MO2. A runtime with a codec of its own needs it in its threads too: the export `codec`.

import type { Codec } from "../core/codec.ts";
import type { Activity } from "../core/definitions.ts";

type Definition = Activity<never, unknown>;

export interface LoadedModule {
  readonly activities: ReadonlyMap<string, Definition>;
  readonly codec: Codec | undefined;
}

/** What the module offers; or why it cannot be used. */
export async function loadActivities(module: string): Promise<LoadedModule | string> {
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = (await import(module)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    return `it cannot be loaded: ${error instanceof Error ? error.message : String(error)}`;
  }
  const activities = new Map<string, Definition>();
  for (const definition of Object.values(exported).flat(1).filter(isActivity)) {
    const known = activities.get(definition.name) ?? definition;
    if (known !== definition) return `it exports two activities of the name "${definition.name}"`;
    activities.set(definition.name, definition);
  }
  const { codec } = exported;
  if (codec !== undefined && !isCodec(codec)) return `its codec has no methods encode and decode`;
  return { activities, codec };
}

function isActivity(value: unknown): value is Definition {
  return (
    typeof value === "object" && value !== null && "kind" in value && value.kind === "activity"
  );
}

function isCodec(value: unknown): value is Codec {
  if (typeof value !== "object" || value === null) return false;
  const { encode, decode }: { encode?: unknown; decode?: unknown } = value;
  return typeof encode === "function" && typeof decode === "function";
}
