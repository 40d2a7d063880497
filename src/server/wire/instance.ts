// Instances on their way out.

import type * as v from "valibot";
import type { InstanceInfo, InstanceSummary, WaitingFor } from "../../client/instance-info.ts";
import type { InstanceTree } from "../../client/tree.ts";
import type { UnreadPage } from "../../client/unread.ts";
import type { Codec } from "../../core/codec.ts";
import type { instance, summary, unreadPage, waiting } from "../schemas/instance.ts";
import type { TreeShape } from "../schemas/shapes.ts";
import { cutValue, toHttp, type WriteOptions } from "../values.ts";
import { briefEndingToHttp, endingToHttp } from "./failure.ts";

/** Of a value in a list. */
const LISTED_CHARS_MAX = 4_096;

export type InstanceShape = v.InferInput<typeof instance>;
export type SummaryShape = v.InferInput<typeof summary>;

export function instanceToHttp(info: InstanceInfo, codec: Codec): InstanceShape {
  return {
    ...commonToHttp(info, {}),
    ...member("output", toHttp(info.output)),
    ...(info.error === undefined ? {} : { error: endingToHttp(info.error, codec) }),
    waitingFor: info.waitingFor.map(waitingToHttp),
    ...(info.unclaimed === undefined ? {} : { unclaimed: info.unclaimed }),
  };
}

export function summaryToHttp(info: InstanceSummary): SummaryShape {
  const { error, leftOut = {} } = info;
  const { customStatus: statusBytes, error: errorBytes, attributes: attributesBytes } = leftOut;
  return {
    ...commonToHttp(info, { charsMax: LISTED_CHARS_MAX }),
    ...(statusBytes === undefined ? {} : { customStatus: cutValue(statusBytes) }),
    ...(error === undefined ? {} : { error: briefEndingToHttp(error) }),
    ...(errorBytes === undefined ? {} : { error: longEnding(info.status, errorBytes) }),
    ...(attributesBytes === undefined ? {} : { attributesLeftOut: attributesBytes }),
  };
}

/** Stands for an error that a list does not read. */
function longEnding(status: string, bytes: number): NonNullable<SummaryShape["error"]> {
  const kind = status === "cancelled" || status === "terminated" ? status : "failed";
  const message = `The error has ${bytes} bytes, too many for a list; read the instance to see it.`;
  return { kind, name: "Error", message };
}

function commonToHttp(
  info: Omit<InstanceSummary, "leftOut">,
  options: WriteOptions,
): Omit<InstanceShape, "error" | "output" | "waitingFor" | "unclaimed"> {
  const { version, unreadable, blocked, parent, paused, cancelled, completedAt } = info;
  return {
    id: info.id,
    name: info.name,
    ...(version === undefined ? {} : { version }),
    status: info.status,
    execution: info.execution,
    ...member("customStatus", toHttp(info.customStatus, options)),
    customStatusVersion: info.customStatusVersion,
    ...(unreadable === undefined ? {} : { unreadable }),
    ...(blocked === undefined ? {} : { blocked: blockToHttp(blocked) }),
    ...(parent === undefined ? {} : { parent }),
    attributes: info.attributes,
    priority: info.priority,
    ...(paused === undefined ? {} : { paused: { ...paused, at: paused.at.toISOString() } }),
    ...(cancelled === undefined ? {} : { cancelled: cancelToHttp(cancelled) }),
    createdAt: info.createdAt.toISOString(),
    updatedAt: info.updatedAt.toISOString(),
    ...(completedAt === undefined ? {} : { completedAt: completedAt.toISOString() }),
  };
}

function cancelToHttp({
  at,
  ...rest
}: NonNullable<InstanceInfo["cancelled"]>): NonNullable<InstanceShape["cancelled"]> {
  return at === undefined ? rest : { ...rest, at: at.toISOString() };
}

export function blockToHttp(
  blocked: NonNullable<InstanceInfo["blocked"]>,
): NonNullable<InstanceShape["blocked"]> {
  const { recorded, requested, since, ...rest } = blocked;
  return {
    ...rest,
    since: since.toISOString(),
    ...(recorded === undefined ? {} : { recorded: sketchToHttp(recorded) }),
    ...(requested === undefined ? {} : { requested: sketchToHttp(requested) }),
  };
}

type Sketch = NonNullable<InstanceInfo["blocked"]>["recorded"];
type SketchShape = Exclude<NonNullable<InstanceShape["blocked"]>["recorded"], undefined>;

function sketchToHttp(sketch: Exclude<Sketch, undefined>): SketchShape {
  if (sketch === null) return null;
  const { tags, ...rest } = sketch;
  return tags === undefined ? rest : { ...rest, tags: [...tags] };
}

function waitingToHttp(wait: WaitingFor): v.InferInput<typeof waiting> {
  switch (wait.kind) {
    case "timer":
      return { ...wait, due: wait.due.toISOString() };
    case "event": {
      const { details, ...rest } = wait;
      return { ...rest, ...member("details", toHttp(details)) };
    }
    case "activity": {
      const { progress, availableAt, ...rest } = wait;
      return {
        ...rest,
        ...(availableAt === undefined ? {} : { availableAt: availableAt.toISOString() }),
        ...member("progress", toHttp(progress)),
      };
    }
    case "step": {
      const { availableAt, ...rest } = wait;
      return {
        ...rest,
        ...(availableAt === undefined ? {} : { availableAt: availableAt.toISOString() }),
      };
    }
    case "child":
      return wait;
  }
}

export function treeToHttp(tree: InstanceTree): TreeShape {
  return { id: tree.id, status: tree.status, children: tree.children.map(treeToHttp) };
}

export function unreadToHttp({ items, cursor }: UnreadPage): v.InferInput<typeof unreadPage> {
  return {
    items: items.map(({ name, data }) => ({ name, ...member("data", toHttp(data)) })),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

/** A member that is absent when there is nothing to show (VA1). */
export function member<Name extends string>(
  name: Name,
  value: unknown,
): { [Key in Name]?: unknown } {
  // A computed key of a type parameter widens to string; the one member has that very name.
  return (value === undefined ? {} : { [name]: value }) as { [Key in Name]?: unknown };
}
