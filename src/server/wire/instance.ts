// Converts instances to JSON.

import type * as v from "valibot";
import type {
  InstanceInfo,
  InstanceSummary,
  WaitingFor,
} from "../../client/inspect/instance-info.ts";
import type { InstanceTree } from "../../client/inspect/tree.ts";
import type { UnreadPage } from "../../client/inspect/unread.ts";
import type { Codec } from "../../core/values/codec.ts";
import { defined } from "../../core/values/defined.ts";
import type { instance, summary, unreadPage, waiting } from "../schemas/instance.ts";
import type { TreeShape } from "../schemas/shapes.ts";
import { cutValue, toHttp, type WriteOptions } from "../views/values.ts";
import { attributesToHttp } from "./attributes.ts";
import { repairToHttp } from "./repair.ts";
import { briefEndingToHttp, endingToHttp } from "./failure.ts";

/** The longest value in a list, in characters. */
const LISTED_CHARS_MAX = 4_096;

export type InstanceShape = v.InferInput<typeof instance>;
export type SummaryShape = v.InferInput<typeof summary>;

export function instanceToHttp(info: InstanceInfo, codec: Codec): InstanceShape {
  return {
    ...commonToHttp(info, {}),
    ...defined({
      output: toHttp(info.output),
      context: toHttp(info.context),
      error: info.error && endingToHttp(info.error, codec),
    }),
    waitingFor: info.waitingFor.map(waitingToHttp),
    ...defined({ unclaimed: info.unclaimed, repairs: info.repairs?.map(repairToHttp) }),
  };
}

export function summaryToHttp(info: InstanceSummary): SummaryShape {
  const { error, waitingFor, leftOut = {} } = info;
  const { customStatus: statusBytes, error: errorBytes, attributes: attributesBytes } = leftOut;
  return {
    ...commonToHttp(info, { charsMax: LISTED_CHARS_MAX }),
    ...(statusBytes === undefined ? {} : { customStatus: cutValue(statusBytes) }),
    ...(error === undefined ? {} : { error: briefEndingToHttp(error) }),
    ...(errorBytes === undefined ? {} : { error: longEnding(info.status, errorBytes) }),
    ...defined({ attributesLeftOut: attributesBytes, waitingFor: waitingFor?.map(listedWait) }),
  };
}

/** Replaces an error that is too long for a list. */
function longEnding(status: string, bytes: number): NonNullable<SummaryShape["error"]> {
  const kind = status === "cancelled" || status === "terminated" ? status : "failed";
  const message = `The error has ${bytes} bytes and is not shown in lists; read the instance to see it.`;
  return { kind, name: "Error", message };
}

function commonToHttp(
  info: Omit<InstanceSummary, "leftOut" | "waitingFor">,
  options: WriteOptions,
): Omit<InstanceShape, "error" | "output" | "waitingFor" | "unclaimed" | "repairs" | "context"> {
  const { version, unreadable, blocked, parent, paused, cancelled, completedAt } = info;
  return defined({
    id: info.id,
    name: info.name,
    version,
    status: info.status,
    execution: info.execution,
    customStatus: toHttp(info.customStatus, options),
    customStatusVersion: info.customStatusVersion,
    unreadable,
    blocked: blocked && blockToHttp(blocked),
    parent,
    attributes: attributesToHttp(info.attributes),
    priority: info.priority,
    paused: paused && { ...paused, at: paused.at.toISOString() },
    cancelled: cancelled && cancelToHttp(cancelled),
    createdAt: info.createdAt.toISOString(),
    updatedAt: info.updatedAt.toISOString(),
    completedAt: completedAt?.toISOString(),
  });
}

function cancelToHttp({
  at,
  interrupted,
  ...rest
}: NonNullable<InstanceInfo["cancelled"]>): NonNullable<InstanceShape["cancelled"]> {
  const calls = interrupted === undefined ? undefined : [...interrupted];
  return { ...rest, ...defined({ at: at?.toISOString(), interrupted: calls }) };
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

/** The form of a list: without the details of an event and the schemas of requests, which may be long. */
function listedWait(wait: WaitingFor): v.InferInput<typeof waiting> {
  if (wait.kind === "event") {
    const { details: _details, ...rest } = wait;
    return rest;
  }
  if (wait.kind !== "requests") return waitingToHttp(wait);
  const { schemas: _schemas, names, ...rest } = wait;
  return { ...rest, names: [...names] };
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
        ...defined({ availableAt: availableAt?.toISOString(), progress: toHttp(progress) }),
      };
    }
    case "step": {
      const { availableAt, ...rest } = wait;
      return { ...rest, ...defined({ availableAt: availableAt?.toISOString() }) };
    }
    case "callback": {
      const { createdAt, expiresAt, ...rest } = wait;
      const times = { createdAt: createdAt.toISOString(), expiresAt: expiresAt?.toISOString() };
      return { ...rest, ...defined(times) };
    }
    case "child":
    case "ask":
      return wait;
    case "requests":
      return { ...wait, names: [...wait.names] };
  }
}

export function treeToHttp(tree: InstanceTree): TreeShape {
  return { id: tree.id, status: tree.status, children: tree.children.map(treeToHttp) };
}

export function unreadToHttp({ items, cursor }: UnreadPage): v.InferInput<typeof unreadPage> {
  return {
    items: items.map(({ name, data, refused, requestId, callback }) => ({
      name,
      ...member("data", toHttp(data)),
      ...defined({ refused, requestId, callback }),
    })),
    ...defined({ cursor }),
  };
}

/** An object with one member, or without it if the value is undefined (values.1). */
export function member<Name extends string>(
  name: Name,
  value: unknown,
): { [Key in Name]?: unknown } {
  // TypeScript widens a computed key of type Name to string. The only member has this name.
  return (value === undefined ? {} : { [name]: value }) as { [Key in Name]?: unknown };
}
