// Belfry for service workers: docs/SDK.md
{
const on = (self.belfry = {})
// Earlier versions had one place for all workers of a site.
const kept = async (name, value) => {
  const { scope } = registration, store = await caches.open("belfry"), place = "belfry/" + name
  if (value) return store.put(scope + place, Response.json({ ...value, scope }))
  const found = await (await store.match(scope + place) ?? await store.match("/" + place))?.json() ?? {}
  return found.scope && found.scope !== scope ? {} : found
}
const quietly = (work) => Promise.resolve(work).catch(() => {})
// One at a time, with the record.
const alone = (work) => navigator.locks.request("belfry-worker", async () => work(await kept("record")))
const pages = () => clients.matchAll({ includeUncontrolled: true })
const tell = async (belfry) => (await pages()).forEach((page) => page.postMessage({ belfry: { ...belfry, scope: registration.scope } }))

const post = async ({ url }, path, body) => {
  const answer = await fetch(url + path, { method: "POST", keepalive: true, body: JSON.stringify(body) })
  const found = answer.status === 204 || await answer.json()
  if (!answer.ok) throw found
  return found
}

const register = ({ proof, namesUser } = {}) => alone(async (record) => {
  const send = (more) => post(record, "/registrations", { ...record.wish, proof, ...more })
  const registered = await send().catch((fault) => {
    // A user whose signature counts no more stays what the server has.
    const keeps = !namesUser && record.wish?.device_uuid && /^custom_user_id/.test(fault.message)
    return keeps ? send({ custom_user_id: undefined }) : Promise.reject(fault)
  }).catch(({ message: error, status }) => ({ error, status }))
  const { device_uuid, state } = registered
  // The page may have changed it meanwhile.
  const now = await kept("record"), { wish } = now
  if (device_uuid && wish?.subscription?.endpoint === record.wish.subscription.endpoint) {
    const endpoints = wish.device_uuid === device_uuid && now.endpoints
    await kept("record", { ...now, endpoints, welcome: undefined, wish: { ...wish, device_uuid, previous: null } })
  }
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
  const { navigate, actions, data } = source, title = source.title ?? location.host
  const options = { data: { receipt, navigate, actions, data } }
  for (const name of "body icon image badge lang dir tag silent requireInteraction actions".split(" ")) options[name] = source[name] ?? undefined
  // An update has the receipt of the first push as its tag.
  if (source.tag) await close(source.tag)
  await registration.showNotification(title, options).catch(() => registration.showNotification(title))
  await report("received", receipt)
}

const parsed = (body) => {
  try {
    if (body[0] === "{") return JSON.parse(body)
  } catch {}
  return { body }
}

on.push = async ({ data, notification }) => {
  const message = parsed(data?.text() ?? "{}")
  if (message.proof) {
    const { welcome } = await kept("record")
    if (welcome || !(await pages()).some((page) => page.visibilityState === "visible")) await show(welcome ?? { body: "Notifications are on" })
    return register(message)
  }
  const tag = message.belfry?.retract
  // Safari takes the permission away for a push that shows nothing.
  if (tag) return registration.showNotification(location.host, { tag, silent: true, data: { receipt: tag } }).then(() => close(tag))
  if ((message.app_badge ?? -1) >= 0) quietly(navigator.setAppBadge?.(message.app_badge))
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

on.message = ({ data }) => data?.belfry === "register" ? register(data) : data?.belfry === "ended" && tell({ ended: true })
if (!self.belfryByHand)
  for (const name in on) addEventListener(name, (event) => event.waitUntil(quietly(on[name](event))))
}
