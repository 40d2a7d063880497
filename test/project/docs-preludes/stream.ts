// Declarations for the blocks of docs/streams.md: a stream, and the handle of an instance that writes to it.
// The packages are imported whole, because a block may import the same names itself.

import type * as library from "perdure";
import * as streams from "perdure/stream";

const tokens = streams.stream<{ text: string }>("tokens");
declare const handle: library.Handle<unknown>;
