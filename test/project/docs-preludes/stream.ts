import type { InstanceHandle } from "perdure";
import { stream } from "perdure/stream";

declare const handle: InstanceHandle;
const tokens = stream<{ text: string }>("tokens");
