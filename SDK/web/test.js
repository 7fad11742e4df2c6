import { Belfry } from "./belfry.js"

const at = (id) => document.getElementById(id)
at("key").value = location.hash.slice(1)
let belfry
let begunAt = 0

// A page has one key for good: another one is another page load.
const start = () => {
  if (belfry || !at("key").value.startsWith("pk_")) return belfry
  belfry = new Belfry({ server: new URL("../../..", import.meta.url).href, platform: at("key").value.trim(),
    worker: new URL("belfry-worker.js", import.meta.url).pathname })
  belfry.onstate = show
  belfry.onmessage = (message) => {
    const item = document.createElement("li")
    const sentAt = message.notification?.data?.data?.sentAt ?? message.sentAt
    const took = sentAt ? `, ${Date.now() - sentAt} ms after it was sent` : ""
    item.textContent = `${new Date().toLocaleTimeString()}: ${message.notification?.title ?? message.body ?? "a push"}${took}`
    at("messages").append(item)
  }
  return belfry
}

const show = (state) => {
  at("state").textContent = state
  at("device").textContent = belfry.device ? `as device ${belfry.device}` : ""
  if (state === "active" && begunAt) at("latency").textContent = `${Date.now() - begunAt} ms from the click to the proof`
}

at("subscribe").addEventListener("click", async () => {
  if (!start()) return (at("state").textContent = "needs a registration key")
  begunAt = Date.now()
  const topics = at("topics").value.split(",").map((topic) => topic.trim()).filter(Boolean)
  const { state, error } = await belfry.subscribe({ topics })
  show(state)
  if (error) at("state").textContent = `${state}: ${error.message}`
})
at("unsubscribe").addEventListener("click", async () => show((await start()?.unsubscribe())?.state ?? "off"))
start()
