// Calls of a client through the middleware (core/middleware). The context of a call is a member of its record, not of its
// options. Callers use these functions only if there is middleware of this kind.

import { invalidArgument } from "../../core/checks.ts";
import type { ContextInput } from "../../core/context/app-types.ts";
import { checkContext } from "../../core/context/start-context.ts";
import { showValue } from "../../core/ids/ids.ts";
import { passLayers } from "../../core/middleware/layers.ts";
import type { Layers, StartCall, StartedInstances } from "../../core/middleware/middleware.ts";

/** A call of a client: its arguments as the caller gave them. */
interface Given<Options> {
  readonly name: string;
  readonly input: unknown;
  readonly options: Options;
}
interface WithContext {
  readonly context?: ContextInput;
}
/** The call itself, with the arguments that are left after the last layer. */
type Go<Options, Result> = (input: unknown, options: Options) => Promise<Result>;

/** What a layer of a start gets from `next`. */
class Started<Result> implements StartedInstances {
  readonly ids: readonly string[];
  readonly result: Result;
  constructor(result: Result, ids: readonly string[]) {
    this.ids = ids;
    this.result = result;
  }
}

export async function startThrough<Options extends WithContext, Result>(
  layers: NonNullable<Layers["start"]>,
  { kind, name, input, options: given }: Given<Options> & Pick<StartCall, "kind">,
  go: Go<Options, Result>,
  idsOf: (result: Result) => readonly string[],
): Promise<Result> {
  const call = { kind, name, input, ...parts(given, `the ${kind} of "${name}"`) };
  const last = async ({ input, options, context }: StartCall): Promise<Started<Result>> => {
    const result = await go(input, withContext(options as Options, context)); // `go` checks them
    return new Started(result, idsOf(result));
  };
  // passLayers returns what `last` returned.
  return ((await passLayers(layers, call, last)) as Started<Result>).result;
}

export function raiseThrough<Options extends object>(
  layers: NonNullable<Layers["raise"]>,
  { name, input, options, instanceId }: Given<Options> & { readonly instanceId: string },
  go: Go<Options, void>,
): Promise<void> {
  const call = {
    kind: "raise",
    name,
    input,
    options: Object.freeze({ ...options }),
    context: Object.freeze({}),
    instanceId,
  } as const;
  return passLayers(
    layers,
    call,
    (changed) => go(changed.input, changed.options as Options), // `go` checks them
  );
}

export function askThrough<Options extends { readonly start?: WithContext }>(
  layers: NonNullable<Layers["ask"]>,
  { name, input, options: given, instanceId }: Given<Options> & { readonly instanceId: string },
  go: Go<Options, unknown>,
): Promise<unknown> {
  const { start: startGiven, ...rest } = given;
  const start = startGiven === undefined ? null : parts(startGiven, `the ask of "${name}"`);
  const options = start === null ? rest : { ...rest, start: start.options };
  const context = start?.context ?? Object.freeze({});
  const call = {
    ...({ kind: "ask", name, input, context, instanceId } as const),
    options: Object.freeze(options),
  };
  return passLayers(layers, call, (changed) => {
    const options = changed.options as Options; // `go` checks them
    if (options.start === undefined) return go(changed.input, options);
    return go(changed.input, { ...options, start: withContext(options.start, changed.context) });
  });
}

function withContext<Options extends WithContext>(
  options: Options,
  context: ContextInput,
): Options {
  const given: unknown = options;
  if (typeof given !== "object" || given === null) {
    throw invalidArgument(`The options of a call must be an object; got ${showValue(given)}.`);
  }
  if (options.context === undefined) return { ...options, context };
  throw invalidArgument("Middleware must change context of the call, not of its options.");
}

function parts(
  { context: given, ...options }: WithContext,
  what: string,
): Pick<StartCall, "options" | "context"> {
  const context = Object.freeze(checkContext(given, what)) as ContextInput; // a record of members
  return { options: Object.freeze(options), context };
}
