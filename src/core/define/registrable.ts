// The values that `register` accepts: definitions, and modules that export definitions.
//   - Only the exports of a module are searched, not the members of an export. Other exports are ignored.
//   - A definition that occurs twice, for example through a re-export, counts once.

import type { Activity, Orchestration } from "./definitions.ts";
import { invalidArgument } from "../checks.ts";
import { errorMessage, type PerdureError } from "../errors/errors.ts";
import { showValue } from "../ids/ids.ts";

/** An activity, or an orchestration; flows, limiters and schedules are orchestrations. */
export type Definition = Activity<never, unknown> | Orchestration<never, unknown>;
/** A module with definitions among its exports: `import * as orders from "./orders.ts"`. */
export type DefinitionModule = Readonly<Record<string, unknown>>;
/** A value that `register` accepts. */
export type Registrable = Definition | DefinitionModule;

const EXPORTS_SHOWN = 20;

/** The definitions in the order in which they occur. Throws one INVALID_ARGUMENT that lists every problem. */
export function definitionsOf(register: readonly Registrable[]): readonly Definition[] {
  const { definitions, problems } = findDefinitions(register);
  if (problems.length > 0) throw cannotRegister(problems);
  return definitions;
}

/** Like `definitionsOf`, but returns the problems, so that the caller can add its own to them. */
export function findDefinitions(register: readonly Registrable[]): {
  readonly definitions: readonly Definition[];
  readonly problems: readonly string[];
} {
  const given: unknown = register;
  if (!Array.isArray(given)) {
    const problem = `register must be a list of definitions and modules; got ${showValue(given)}`;
    throw cannotRegister([problem]);
  }
  const definitions = new Set<Definition>();
  const problems: string[] = [];
  for (const [index, one] of given.entries()) {
    const where = `register[${index}]`;
    if (isDefinition(one)) definitions.add(one);
    else if (isModule(one)) {
      for (const found of exportsOf(one, where, problems)) definitions.add(found);
    } else {
      const what = "an activity, an orchestration or a module that exports some";
      problems.push(`${where} must be ${what}; got ${showValue(one)}`);
    }
  }
  return { definitions: [...definitions], problems };
}

export function cannotRegister(problems: readonly string[]): PerdureError {
  return invalidArgument(`Cannot register: ${problems.join("; ")}.`);
}

function exportsOf(module: object, where: string, problems: string[]): readonly Definition[] {
  const names = Object.keys(module);
  const found: Definition[] = [];
  for (const name of names) {
    try {
      const value: unknown = Reflect.get(module, name);
      if (isDefinition(value)) found.push(value);
    } catch (error) {
      // The imports form a cycle, and this module has not run yet.
      const why = errorMessage(error);
      problems.push(`export "${name}" of ${where} cannot be read yet (${why})`);
      return [];
    }
  }
  if (found.length > 0) return found;
  const shown = names.slice(0, EXPORTS_SHOWN).join(", ");
  const more = names.length > EXPORTS_SHOWN ? ` and ${names.length - EXPORTS_SHOWN} more` : "";
  const its = names.length === 0 ? "it has no exports" : `its exports are ${shown}${more}`;
  problems.push(`${where} exports no activity and no orchestration: ${its}`);
  return [];
}

function isDefinition(value: unknown): value is Definition {
  if (typeof value !== "object" || value === null || !("kind" in value)) return false;
  if (isNamespace(value)) return false; // a module may have an export named "kind"
  const { kind } = value;
  return (kind === "activity" || kind === "orchestration") && "handler" in value;
}

/** A module's namespace, or a plain object of the same shape, as bundlers make one. */
function isModule(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  if (isNamespace(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return !("kind" in value) && (prototype === null || prototype === Object.prototype);
}

function isNamespace(value: object): boolean {
  return Reflect.get(value, Symbol.toStringTag) === "Module";
}
