// Which activities do the providers of a Nest application have?
//   - Nest knows classes and tokens before it creates instances. So the runtime gets its definitions first
//       and looks the instance up at each attempt, and a provider may inject the client of the runtime that runs it.
//   - nest-discovery.2: The methods are those of the class or, if it has none, of the class that is the token. So a test can
//       replace a provider by a fake (`overrideProvider(Payments).useValue(fake)`), and a factory can create one.
//   - nest-discovery.3: Scopes, and objects from factories without such a token, are known when all instances exist.

import { cannotRegister, findDefinitions } from "../../core/define/registrable.ts";
import type { Definition, Registrable } from "../../core/define/registrable.ts";
import { activityMethods, boundActivity, isDeclared, type ActivityMethod } from "./activities.ts";

/** A provider or controller in Nest's container: what this folder uses of Nest's `InstanceWrapper`. */
export interface Provided {
  readonly token: unknown;
  readonly metatype: unknown;
  readonly instance: unknown;
  readonly isAlias: boolean;
  readonly isFactory: boolean;
  readonly isTransient: boolean;
  isDependencyTreeStatic(): boolean;
}

/** What this folder uses of Nest's `DiscoveryService`. */
export interface Discovery {
  getProviders(): readonly Provided[];
  getControllers(): readonly Provided[];
}

/** A method with `@Activity` and its provider. */
interface Found {
  readonly provided: Provided;
  readonly method: ActivityMethod;
  /** For messages: "Payments.charge". */
  readonly where: string;
}

/** What to register: `register`, with the methods of providers in the place of declared activities. */
export function definitionsWith(
  register: readonly Registrable[],
  providers: readonly Provided[],
): readonly Definition[] {
  const { definitions, problems: wrong } = findDefinitions(register);
  const problems = [...wrong];
  const bound = new Map<string, Found>();
  for (const found of providers.flatMap(methodsOf)) {
    const { name } = found.method.declared;
    const other = bound.get(name);
    if (other === undefined) bound.set(name, found);
    else problems.push(`activity "${name}" has two methods: ${other.where} and ${found.where}`);
  }
  for (const one of definitions) {
    const found = one.kind === "activity" ? bound.get(one.name) : undefined;
    if (isDeclared(one)) {
      if (found === undefined) {
        problems.push(`activity "${one.name}" has no method with @Activity in this application`);
      }
    } else if (found !== undefined) {
      problems.push(`activity "${one.name}" has a function and the method ${found.where}`);
    }
  }
  if (problems.length > 0) throw cannotRegister(problems);
  const methods = [...bound.values()].map(({ method, provided, where }) =>
    boundActivity(method, () => instanceOf(provided, where)),
  );
  return [...definitions.filter((one) => !isDeclared(one)), ...methods];
}

/** nest-discovery.3 */
export function checkCreated(providers: readonly Provided[]): void {
  const problems: string[] = [];
  for (const provided of providers) {
    const found = methodsOf(provided);
    for (const { where } of found) {
      if (!provided.isTransient && provided.isDependencyTreeStatic()) continue;
      problems.push(`${where} must belong to a singleton; its provider has another scope`);
    }
    if (found.length > 0 || provided.isAlias || !isObject(provided.instance)) continue;
    for (const { key } of activityMethods(prototypeOf(provided.instance))) {
      const where = `${provided.instance.constructor.name}.${String(key)}`;
      problems.push(`${where} is unknown to Nest before it runs; provide it under its class`);
    }
  }
  if (problems.length > 0) throw cannotRegister(problems);
}

/** nest-discovery.2 */
function methodsOf(provided: Provided): readonly Found[] {
  if (provided.isAlias) return [];
  const types = [provided.isFactory ? null : provided.metatype, provided.token];
  for (const type of types) {
    if (typeof type !== "function") continue;
    const prototype: unknown = type.prototype;
    const methods = isObject(prototype) ? activityMethods(prototype) : [];
    if (methods.length === 0) continue;
    return methods.map((method) => {
      return { provided, method, where: `${type.name}.${String(method.key)}` };
    });
  }
  return [];
}

function instanceOf({ instance }: Provided, where: string): object {
  if (isObject(instance)) return instance;
  throw new Error(`${where}: Nest has not created its provider.`);
}

function prototypeOf(instance: object): object | null {
  return Object.getPrototypeOf(instance) as object | null;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
