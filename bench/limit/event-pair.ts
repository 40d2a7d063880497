// The events that a turn of the limit appends: the end of one activity and the begin of the next, as the engine writes
// them.

export function pairOf(at: number, first: number, output = "1"): string {
  return `{"v":1,"at":${at},"e":[{"kind":"ActivityCompleted","scheduled":${first - 1},"output":"${output}","attempts":1},{"kind":"ActivityScheduled","name":"increment","input":"1"}]}`;
}
