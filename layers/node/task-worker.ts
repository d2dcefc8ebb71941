/**
 * Entry of a lane that serves a program given by its URL.
 *
 * @since 0.1.0
 */
import { workerData } from "node:worker_threads"
import type { TaskProgram } from "../../src/tasks/context.ts"
import { failLane, serveTasks, TASK_LANE, type TaskLaneData } from "./task-server.ts"

const data = (workerData as Record<string, unknown>)[TASK_LANE] as TaskLaneData

const load = async (): Promise<TaskProgram> => {
  const program = await import(data.program!) as Partial<TaskProgram>
  if (typeof program.tasks !== "object" || program.tasks === null) {
    throw new TypeError(`${data.program} exports no "tasks"`)
  }
  return program as TaskProgram
}

await load().then(serveTasks, (error: unknown) => failLane(data, error))
