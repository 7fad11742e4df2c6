// Belfry for service workers: docs/SDK.md
{
const kept = async (name, value) => {
  const store = await caches.open("belfry")
  return value ? store.put("/belfry/" + name, Response.json(value)) : (await store.match("/belfry/" + name))?.json() ?? {}
}
const quietly = (work) => Promise.resolve(work).catch(() => {})
// One at a time: two would write over each other.
const alone = (work) => navigator.locks.request("belfry-worker", work)
const pages = () => clients.matchAll({ type: "window", includeUncontrolled: true })
const tell = async (belfry) => (await pages()).forEach((page) => page.postMessage({ belfry }))

const post = async ({ url }, path, body) => {
  const answer = await fetch(url + path, { method: "POST", keepalive: true, body: JSON.stringify(body) })
  const found = answer.status === 204 || (await answer.json())
  if (!answer.ok) throw found
  return found
}

const register = (proof) => alone(async () => {
  const record = await kept("record")
  const registered = await post(record, "/registrations", { ...record.wish, proof }).catch(({ message, status }) => ({ error: message, status }))
  const { device_uuid, state } = registered
  if (state === "proving") return
  if (device_uuid) await kept("record", { ...record, wish: { ...record.wish, device_uuid, previous: null } })
  tell({ registered })
})

// What cannot be sent now goes with the next.
const report = (type, receipt_id) => alone(async () => {
  const record = await kept("record")
  const device_uuid = record.wish?.device_uuid
  if (!device_uuid || !receipt_id) return
  const { list = [] } = await kept("events")
  const events = [...list, { type, receipt_id, time: Date.now() }].slice(-50)
  await kept("events", { list: events })
  await post(record, "/events", { device_uuid, events })
  await kept("events", {})
})

const show = async (source, receipt = source.data?.receiptId) => {
  const { title = location.host, navigate, actions, data } = source
  const options = { data: { receipt, navigate, actions, data } }
  for (const name of "body icon image badge lang dir tag silent requireInteraction actions".split(" ")) options[name] = source[name]
  await registration.showNotification(title, options)
  await report("received", receipt)
}

const push = async ({ data, notification }) => {
  const body = data?.text() ?? "{}"
  const message = body[0] === "{" ? JSON.parse(body) : { body }
  if (message.proof) {
    const { welcome } = await kept("record")
    const seen = (await pages()).some(({ visibilityState }) => visibilityState === "visible")
    if (welcome || !seen) await show(welcome ?? { body: "Notifications are on" })
    return register(message.proof)
  }
  if (message.app_badge >= 0) quietly(navigator.setAppBadge?.(message.app_badge))
  tell({ message })
  await show(notification ?? message.notification ?? message, message.receiptId)
}

const notificationclick = async ({ notification, action }) => {
  const { receipt, navigate, actions } = notification.data ?? {}
  notification.close()
  const told = quietly(report("opened", receipt))
  const target = actions?.find((one) => one.action === action)?.navigate ?? navigate ?? ""
  const { href } = new URL(target, registration.scope)
  const page = (await pages()).find(({ url }) => url === href)
  await quietly(page ? page.focus() : clients.openWindow(href))
  await told
}

const pushsubscriptionchange = async ({ newSubscription }) => {
  const record = await kept("record")
  const { wish, vapid: applicationServerKey } = record
  if (!wish) return
  wish.previous ??= wish.subscription
  wish.subscription = newSubscription ?? (await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey }))
  await kept("record", record)
  await register()
}

const message = ({ data }) => data?.belfry === "register" && register()
self.belfry = { push, notificationclick, pushsubscriptionchange, message }
if (!self.belfryByHand)
  for (const name in belfry) addEventListener(name, (event) => event.waitUntil(quietly(belfry[name](event))))
}
