// Structure check: finds every problem of a definition, for flows from the builder and flows read from JSON.

import { isPerdureError } from "../../core/errors/errors.ts";
import { parseName } from "../../core/ids/ids.ts";
import { parseVersion } from "../../core/ids/semver.ts";
import type { FlowDefinition, FlowNode, KeyedNodes } from "../data/definition.ts";
import { ownActivityName } from "../data/hash.ts";
import { levelsOf, LEVELS_MAX, TOO_DEEP, walk, nodeWorkOf } from "../data/paths.ts";

/** One clause per problem. Empty: the definition is valid. */
export function structureProblems(definition: FlowDefinition): string[] {
  const problems: string[] = [];
  problems.push(...refusal(() => parseName(definition.name, "flow name")));
  problems.push(...refusal(() => parseVersion(definition.version)));
  if (String(definition.version).includes("+")) {
    problems.push(
      `version "${definition.version}" must not have build metadata (after "+"): the hash goes there`,
    );
  }
  const { compactAfter } = definition;
  if (compactAfter !== undefined) problems.push(...wholeNumber(compactAfter, "compactAfter", 10));
  if (definition.nodes.length === 0) problems.push("the flow has no steps");
  problems.push(...levelProblems(definition.nodes, "", true));
  problems.push(...pathProblems(definition));
  return problems;
}

function wholeNumber(value: unknown, what: string, min: number): string[] {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min) return [];
  return [`${what} must be a whole number of at least ${min} (got ${String(value)})`];
}

/**
 * The message of the PerdureError that a check throws, as an entry of a list that "; " separates: without
 * its full stop and its semicolon. Empty: the check passes.
 */
export function refusal(check: () => unknown): string[] {
  try {
    check();
    return [];
  } catch (error) {
    if (isPerdureError(error)) {
      return [error.message.replace(/\.$/, "").replace(/; got (.*)$/s, " (got $1)")];
    }
    throw error;
  }
}

function levelProblems(
  nodes: readonly FlowNode[],
  prefix: string,
  isWhole: boolean,
  depth = 0,
): string[] {
  if (depth > LEVELS_MAX) return [TOO_DEEP];
  const problems: string[] = [];
  // A catch and the nodes that it guards are one level (paths.1): their ids are checked once, from the
  // outermost catch.
  if (isWhole) problems.push(...duplicateIds(nodes, prefix));
  for (const [index, node] of nodes.entries()) {
    const path = prefix + node.id;
    // A catch undoes everything that its level has done (undo.1), so it must guard every node before it.
    if (node.kind === "catch" && index > 0)
      problems.push(`catch "${path}" must be the first node on its level`);
    problems.push(...idProblems(node.id, `the id of ${node.kind} "${path}"`));
    problems.push(...nodeProblems(node, path));
    for (const level of levelsOf(node, prefix)) {
      problems.push(
        ...levelProblems(level.nodes, level.prefix, level.prefix !== prefix, depth + 1),
      );
    }
  }
  return problems;
}

function duplicateIds(nodes: readonly FlowNode[], prefix: string): string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const id of idsOf(nodes)) {
    if (seen.has(id)) twice.add(id);
    seen.add(id);
  }
  const where = prefix === "" ? "the first level" : `the level "${prefix.slice(0, -1)}"`;
  return [...twice].map((id) => `the id "${id}" is used twice on ${where}`);
}

function* idsOf(nodes: readonly FlowNode[]): Generator<string> {
  for (const node of nodes) {
    if (node.kind === "catch") yield* idsOf(node.nodes);
    yield node.id;
  }
}

function idProblems(id: string, what: string): string[] {
  const problems = refusal(() => parseName(id, what));
  if (/[/#]/.test(id))
    problems.push(`${what} must not contain "/" or "#": they separate the parts of a path`);
  return problems;
}

function nodeProblems(node: FlowNode, path: string): string[] {
  switch (node.kind) {
    case "fork":
      if (node.branches.length === 0) return [`fork "${path}" has no branches`];
      return keyProblems(node.branches, path);
    case "route":
      if (node.cases.length === 0) return [`route "${path}" has no cases`];
      return keyProblems(node.cases, path);
    case "map":
      return [
        ...emptyBody(node.nodes, `map "${path}"`),
        ...wholeNumber(node.concurrency, `concurrency of map "${path}"`, 1),
      ];
    case "loop":
      return [
        ...emptyBody(node.nodes, `loop "${path}"`),
        ...wholeNumber(node.maxIterations, `maxIterations of loop "${path}"`, 1),
      ];
    case "catch":
      return emptyBody(node.nodes, `catch "${path}"`);
    case "wait":
      return refusal(() => parseName(node.signal, `the signal of "${path}"`));
    case "child":
      return refusal(() => parseName(node.orchestration, `the orchestration of "${path}"`));
    default:
      return [];
  }
}

function emptyBody(nodes: readonly FlowNode[], what: string): string[] {
  return nodes.length === 0 ? [`${what} has no nodes`] : [];
}

function keyProblems(branches: readonly KeyedNodes[], path: string): string[] {
  const keys = new Set<string>();
  return branches.flatMap(({ key }) => {
    const twice = keys.has(key) ? [`the key "${key}" is used twice in "${path}"`] : [];
    keys.add(key);
    return [...twice, ...idProblems(key, `the key "${key}" of "${path}"`)];
  });
}

/**
 * Ids may contain dots, so two nodes on different levels can get the same path. Activity names have a
 * maximum length.
 */
function pathProblems(definition: FlowDefinition): string[] {
  const problems: string[] = [];
  /** The level of each path. Two equal ids on one level are already reported by duplicateIds. */
  const paths = new Map<string, string>();
  for (const { node, path, parent } of walk(definition.nodes)) {
    const works = nodeWorkOf(node, path);
    for (const taken of new Set([path, ...works.map((work) => work.path)])) {
      const level = `${parent ?? ""} ${path.slice(0, -node.id.length)}`;
      const known = paths.get(taken);
      if (known !== undefined && known !== level) {
        problems.push(`two nodes have the path "${taken}"`);
      }
      paths.set(taken, level);
    }
    for (const work of works) {
      const { activity } = work.definition;
      const name = activity ?? ownActivityName(definition.name, "00000000", work.path);
      problems.push(...refusal(() => parseName(name, `the activity of "${work.path}"`)));
    }
  }
  return problems;
}
