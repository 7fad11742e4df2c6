// Belfry for service workers: docs/SDK.md
{
const on = (self.belfry = {})
const kept = async (name, value) => {
  const store = await caches.open("belfry")
  return value ? store.put("/belfry/" + name, Response.json(value)) : (await store.match("/belfry/" + name))?.json() ?? {}
}
const quietly = (work) => Promise.resolve(work).catch(() => {})
// One at a time, with the record.
const alone = (work) => navigator.locks.request("belfry-worker", async () => work(await kept("record")))
const pages = () => clients.matchAll({ includeUncontrolled: true })
const tell = async (belfry) => (await pages()).forEach((page) => page.postMessage({ belfry }))

const post = async ({ url }, path, body) => {
  const answer = await fetch(url + path, { method: "POST", keepalive: true, body: JSON.stringify(body) })
  const found = answer.status === 204 || await answer.json()
  if (!answer.ok) throw found
  return found
}

const register = (proof) => alone(async (record) => {
  const registered = await post(record, "/registrations", { ...record.wish, proof }).catch(({ message: error, status }) => ({ error, status }))
  const { device_uuid, state } = registered
  // The page may have changed it meanwhile.
  const now = await kept("record"), { wish } = now
  if (device_uuid && wish?.subscription?.endpoint === record.wish.subscription.endpoint) await kept("record", { ...now, wish: { ...wish, device_uuid, previous: null } })
  if (state !== "proving") tell({ registered })
})

// What fails goes with the next.
const report = (type, receipt_id) => alone(async (record) => {
  const device_uuid = record.wish?.device_uuid
  if (!device_uuid || !receipt_id) return
  const { events = [] } = await kept("events")
  const body = { device_uuid, events: [...events, { type, receipt_id, time: Date.now() }].slice(-50) }
  await kept("events", body)
  await post(record, "/events", body)
  await kept("events", {})
})

// The receipt of what the worker closed: some browsers tell of that too.
let closed
const close = async (receipt) => {
  closed = receipt
  for (const one of await registration.getNotifications()) if (one.data?.receipt === receipt) one.close()
}

const show = async (source, receipt = source.data?.receiptId) => {
  const { title = location.host, navigate, actions, data } = source
  const options = { data: { receipt, navigate, actions, data } }
  for (const name of "body icon image badge lang dir tag silent requireInteraction actions".split(" ")) options[name] = source[name]
  // An update has the receipt of the first push as its tag.
  if (source.tag) await close(source.tag)
  await registration.showNotification(title, options).catch(() => registration.showNotification(title))
  await report("received", receipt)
}

on.push = async ({ data, notification }) => {
  const body = data?.text() ?? "{}"
  const message = body[0] === "{" ? JSON.parse(body) : { body }
  if (message.proof) {
    const { welcome } = await kept("record")
    if (welcome || !(await pages()).some((page) => page.visibilityState === "visible")) await show(welcome ?? { body: "Notifications are on" })
    return register(message.proof)
  }
  const tag = message.belfry?.retract
  // Safari takes the permission away for a push that shows nothing.
  if (tag) return registration.showNotification(location.host, { tag, silent: true, data: { receipt: tag } }).then(() => close(tag))
  if (message.app_badge >= 0) quietly(navigator.setAppBadge?.(message.app_badge))
  tell({ message })
  await show(notification ?? message.notification ?? message, message.receiptId)
}

on.notificationclick = async ({ notification, action }) => {
  const { receipt, navigate, actions } = notification.data ?? {}
  closed = receipt
  notification.close()
  const told = quietly(report("opened", receipt))
  const { href } = new URL(actions?.find((one) => one.action === action)?.navigate ?? navigate ?? "", registration.scope)
  const page = (await pages()).find(({ url }) => url === href)
  await quietly(page ? page.focus() : clients.openWindow(href))
  await told
}

on.notificationclose = ({ notification: { data } }) => data?.receipt === closed || report("dismissed", data?.receipt)

on.pushsubscriptionchange = async ({ newSubscription }) => {
  const record = await kept("record")
  const { wish, vapid: applicationServerKey } = record
  if (!wish) return
  wish.previous ??= wish.subscription
  wish.subscription = newSubscription ?? await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey })
  await kept("record", record)
  await register()
}

on.message = ({ data }) => data?.belfry === "register" && register()
if (!self.belfryByHand)
  for (const name in on) addEventListener(name, (event) => event.waitUntil(quietly(on[name](event))))
}
