// `flow(name)`: the entry point of the builder.

import type {
  SchemaInput,
  SchemaOutput,
  StandardSchema,
} from "../../core/values/standard-schema.ts";
import type { Checked } from "./builder-types.ts";
import { FlowBuilder } from "./builder.ts";
import { checkFlowOptions, type FlowOptions } from "../flow.ts";

/** Starts a flow with this name. Add steps, then call `build()`. */
export function flow<Schema extends StandardSchema>(
  name: string,
  options: FlowOptions & { readonly input: Schema },
): FlowBuilder<Checked<SchemaInput<Schema>, SchemaOutput<Schema>>, SchemaOutput<Schema>>;
export function flow<I = undefined>(
  name: string,
  options?: FlowOptions & { readonly input?: undefined },
): FlowBuilder<I, I>;
export function flow(name: string, options: FlowOptions = {}): FlowBuilder<never, unknown> {
  checkFlowOptions(name, options);
  return new FlowBuilder({ ...options, name });
}
