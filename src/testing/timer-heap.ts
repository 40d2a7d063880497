// Timer heap: a binary heap of timers with the earliest at index 0.
//   - Timers with the same due time are sorted by `order`.

export interface HeapTimer {
  readonly due: number;
  readonly order: number;
}

function before(a: HeapTimer, b: HeapTimer): boolean {
  return a.due < b.due || (a.due === b.due && a.order < b.order);
}

/** Adds a timer. No timer in the heap is earlier than its parent. */
export function pushTimer<T extends HeapTimer>(heap: T[], timer: T): void {
  let index = heap.length;
  heap.push(timer);
  while (index > 0) {
    const parentIndex = (index - 1) >> 1;
    const parent = heap[parentIndex];
    if (parent === undefined || !before(timer, parent)) break;
    heap[index] = parent;
    index = parentIndex;
  }
  heap[index] = timer;
}

/** Removes the earliest timer. */
export function popFirst<T extends HeapTimer>(heap: T[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    let childIndex = 2 * index + 1;
    let child = heap[childIndex];
    const right = heap[childIndex + 1];
    if (child !== undefined && right !== undefined && before(right, child)) {
      child = right;
      childIndex += 1;
    }
    if (child === undefined || !before(child, last)) break;
    heap[index] = child;
    index = childIndex;
  }
  heap[index] = last;
}
