// Prints an instance with all its descendants as a tree.

import type { InstanceTree } from "../../client/inspect/tree.ts";
import { dim, type Screen } from "./screen.ts";
import { showStatus } from "./status-text.ts";

export function printTree(screen: Screen, tree: InstanceTree): void {
  screen.line("  ", tree.id, "  ", showStatus(tree));
  printChildren(screen, tree.children, "  ");
}

function printChildren(screen: Screen, trees: readonly InstanceTree[], indent: string): void {
  for (const [index, { id, status, children }] of trees.entries()) {
    const isLast = index === trees.length - 1;
    screen.line(dim(indent + (isLast ? "└ " : "├ ")), id, "  ", showStatus({ status }));
    printChildren(screen, children, indent + (isLast ? "  " : "│ "));
  }
}
