import FoundationEssentials
import HTTPTypes
import Hummingbird

/// A message as it is published to a Gotify server: JSON or a form of either kind. Source: Gotify, `POST /message`, and "Push messages",
/// whose example is `curl -F`.
enum GotifyMessage {
    static func publication(_ call: PublisherRoutes.Call) throws(InvalidInput) -> Publication {
        let members = try members(of: call)
        guard let message = try members.text("message") else { throw InvalidInput.missing("message") }
        var publication = Publication(title: try members.text("title"), body: message)
        if let value = members["priority"], !value.isNull {
            guard let number = value.wholeNumber ?? value.stringValue.flatMap({ Int64($0) }) else {
                throw InvalidInput(field: "priority", "has to be a number")
            }
            publication.priority = priority(number)
        }
        guard case .object(let extras)? = members["extras"] else { return publication }
        if case .object(let notification)? = extras["client::notification"] {
            // An address that no push can have is for the app alone: a message is not lost for it.
            publication.link = notification["click"]?["url"]?.stringValue.flatMap { $0.isLink ? $0 : nil }
            publication.image = notification["bigImageUrl"]?.stringValue.flatMap { $0.isImageURL ? $0 : nil }
        }
        publication.data["extras"] = .object(extras)
        return publication
    }

    /// Gotify's Android app is silent at 0, shows no heads-up below 4, and takes 8 and more for urgent.
    private static func priority(_ number: Int64) -> Int { number <= 0 ? 1 : number < 4 ? 2 : number < 8 ? 3 : 5 }

    private static func members(of call: PublisherRoutes.Call) throws(InvalidInput) -> JSONObject {
        let type = call.request.headers.value(.contentType) ?? ""
        if type.lowercased().hasPrefix("application/json") { return try JSONObject.body(call.body) }
        var all = call.parameters
        if let boundary = Boundary.named(in: type) {
            let form = try FormData(multipart: call.body, boundary: boundary)
            for (name, value) in form.pairs { all[name.lowercased()] = value }
        } else {
            all.merge(PublisherRoutes.parameters(String(decoding: call.body, as: UTF8.self))) { $1 }
        }
        return JSONObject(all.map { (key: $0.key, value: JSONValue.string($0.value)) })
    }
}

/// A message of Apprise's `json://`. Source: Apprise, "JSON".
enum AppriseMessage {
    static func publication(_ call: PublisherRoutes.Call) throws(InvalidInput) -> Publication {
        var members: JSONObject = [:]
        try JSONReader.document(call.body) { reader, name throws(InvalidInput) in
            // Attachments may be large.
            guard ["title", "message", "type"].contains(name) else { return try reader.skip() }
            members[name] = try reader.value(name)
        }
        guard let message = try members.text("message") else { throw InvalidInput.missing("message") }
        let type = try members.text("type") ?? "info"
        var publication = Publication(
            title: try members.text("title")?.cut(toBytes: Publication.bytesMax),
            body: message.cut(toBytes: Publication.bytesMax))
        publication.priority = ["failure": 5, "warning": 4][type] ?? 3
        publication.data["type"] = .string(type)
        publication.values = ["type": type]
        return publication
    }
}

/// The alerts of a group, as Alertmanager and Grafana post them. Source: Alertmanager, "webhook_config", version 4; Grafana, "Webhook notifier".
struct AlertGroup {
    private var members: JSONObject = [:]
    /// The first of them; of the others the number is enough.
    private var alerts: [JSONValue] = []
    private var count = 0
    private var firing = 0

    /// Groups and attachments may be large, and their senders repeat nothing that was refused. Source: Alertmanager, `notify/util.go`, Retrier.
    static let bytesMax = 4 << 20

    private static let names = [
        "status", "commonLabels", "commonAnnotations", "title", "message", "groupKey", "externalURL", "truncatedAlerts",
    ]

    private init(json bytes: [UInt8]) throws(InvalidInput) {
        var isFound = false
        try JSONReader.document(bytes) { reader, name throws(InvalidInput) in
            guard name == "alerts" else {
                guard Self.names.contains(name) else { return try reader.skip() }
                members[name] = try reader.value(name)
                return
            }
            isFound = true
            try reader.array(name) { reader, index throws(InvalidInput) in
                count += 1
                if index < Self.linesMax { alerts.append(try reader.value("alerts")) }
                let status = try index < Self.linesMax ? alerts.last?["status"] : Self.status(from: &reader)
                if status?.stringValue != "resolved" { firing += 1 }
            }
        }
        guard isFound else { throw InvalidInput.missing("alerts") }
        // Alertmanager leaves alerts beyond its `max_alerts` out.
        count += Int(UInt32(clamping: members["truncatedAlerts"]?.wholeNumber ?? 0))
    }

    private static func status(from reader: inout JSONReader) throws(InvalidInput) -> JSONValue? {
        var status: JSONValue?
        guard reader.isAtObject() else {
            try reader.skip()
            return nil
        }
        try reader.object("alerts") { reader, name throws(InvalidInput) in
            if name == "status" { status = try reader.value(name) } else { try reader.skip() }
        }
        return status
    }

    static func publication(_ call: PublisherRoutes.Call) throws(InvalidInput) -> Publication {
        let group = try AlertGroup(json: call.body)
        let (members, alerts, firing) = (group.members, group.alerts, group.firing)
        let status = try members.text("status") ?? "firing"
        let labels = texts(members["commonLabels"])
        let annotations = texts(members["commonAnnotations"])
        let name = labels["alertname"] ?? "alerts"
        let isFiring = status == "firing"
        let severity = labels["severity"] ?? ""
        var publication = Publication(
            title: (try members.text("title") ?? (isFiring ? "\(name): \(firing) firing" : "\(name) is resolved"))
                .cut(toBytes: titleBytesMax),
            body: (try members.text("message") ?? group.lines(annotations)).cut(toBytes: bodyBytesMax))
        publication.priority = !isFiring ? 3 : severity == "critical" || severity == "page" ? 5 : 4
        publication.link = link(alerts, members)
        // An alert and its end take the place of each other.
        publication.collapseKey = try members.text("groupKey")
        publication.values = [
            "status": status, "alertname": name, "severity": severity, "count": "\(group.count)",
            "firing": "\(firing)", "summary": annotations["summary"] ?? group.lines(annotations),
            "description": annotations["description"] ?? "", "instance": labels["instance"] ?? "",
            "url": publication.link ?? "",
        ].mapValues { $0.cut(toBytes: bodyBytesMax) }
        return publication
    }

    private static let linesMax = 8
    /// Lengths that fit on every platform: a long alert is better cut than refused, since its sender forgets it then.
    private static let (titleBytesMax, bodyBytesMax) = (256, 2_048)

    /// A line for each alert, of its summary or its labels.
    private func lines(_ common: [String: String]) -> String {
        if count > 1, let summary = common["summary"] { return summary }
        var lines = alerts.map { alert in
            let (notes, labels) = (Self.texts(alert["annotations"]), Self.texts(alert["labels"]))
            let own = notes["summary"] ?? notes["description"] ?? notes["message"]
            return own ?? labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        }
        if count > alerts.count { lines.append("and \(count - alerts.count) more") }
        return lines.isEmpty ? "no alerts" : lines.joined(separator: "\n")
    }

    /// The page of a single alert, or else that of the sender. Addresses that no push can have are left out.
    private static func link(_ alerts: [JSONValue], _ members: JSONObject) -> String? {
        let own = alerts.count == 1 ? ["dashboardURL", "panelURL", "generatorURL"].map { alerts[0][$0] } : []
        return (own + [members["externalURL"]]).lazy.compactMap { $0?.stringValue }.first(where: \.isLink)
    }

    private static func texts(_ value: JSONValue?) -> [String: String] {
        guard case .object(let members)? = value else { return [:] }
        return members.reduce(into: [:]) { texts, member in texts[member.key] = member.value.flat }
    }
}
