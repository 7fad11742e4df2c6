import FoundationEssentials
import HTTPTypes
import Hummingbird

/// A message as it is published to a Gotify server: JSON or a form. Source: Gotify, `POST /message`.
enum GotifyMessage {
    static func publication(_ call: PublisherRoutes.Call) throws(InvalidInput) -> Publication {
        let type = call.request.headers.value(.contentType)?.lowercased() ?? ""
        let members =
            type.hasPrefix("application/json")
            ? try JSONObject.body(call.body) : fields(String(decoding: call.body, as: UTF8.self), call.parameters)
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
            if case .object(let click)? = notification["click"] { publication.link = try click.text("url") }
            publication.image = try notification.text("bigImageUrl")
        }
        publication.data["extras"] = .object(extras)
        return publication
    }

    /// Gotify's Android app is silent at 0, shows no heads-up below 4, and takes 8 and more for urgent.
    private static func priority(_ number: Int64) -> Int { number <= 0 ? 1 : number < 4 ? 2 : number < 8 ? 3 : 5 }

    private static func fields(_ form: String, _ parameters: [String: String]) -> JSONObject {
        let all = parameters.merging(PublisherRoutes.parameters(form)) { $1 }
        return JSONObject(all.map { (key: $0.key, value: JSONValue.string($0.value)) })
    }
}

/// A message of Apprise's `json://`. Source: Apprise, "JSON".
enum AppriseMessage {
    static func publication(_ call: PublisherRoutes.Call) throws(InvalidInput) -> Publication {
        let members = try JSONObject.body(call.body)
        guard let message = try members.text("message") else { throw InvalidInput.missing("message") }
        let type = try members.text("type") ?? "info"
        var publication = Publication(title: try members.text("title"), body: message)
        publication.priority = ["failure": 5, "warning": 4][type] ?? 3
        publication.data["type"] = .string(type)
        publication.values = ["title": publication.title ?? "", "message": message, "type": type]
        return publication
    }
}

/// The alerts of a group, as Alertmanager and Grafana post them. Source: Alertmanager, "webhook_config", version 4; Grafana, "Webhook notifier".
enum AlertGroup {
    static func publication(_ call: PublisherRoutes.Call) throws(InvalidInput) -> Publication {
        let members = try JSONObject.body(call.body)
        guard case .array(let alerts)? = members["alerts"] else { throw InvalidInput.missing("alerts") }
        let status = try members.text("status") ?? "firing"
        let labels = texts(members["commonLabels"])
        let annotations = texts(members["commonAnnotations"])
        let name = labels["alertname"] ?? "alerts"
        let firing = alerts.count { $0["status"]?.stringValue != "resolved" }
        let isFiring = status == "firing"
        let severity = labels["severity"] ?? ""
        var publication = Publication(
            title: (try members.text("title") ?? (isFiring ? "\(name): \(firing) firing" : "\(name) is resolved"))
                .cut(toBytes: titleBytesMax),
            body: (try members.text("message") ?? lines(of: alerts, annotations)).cut(toBytes: bodyBytesMax))
        publication.priority = !isFiring ? 3 : severity == "critical" || severity == "page" ? 5 : 4
        publication.link = link(alerts, members)
        // An alert and its end take the place of each other.
        publication.collapseKey = try members.text("groupKey")
        publication.values = [
            "status": status, "alertname": name, "severity": severity, "count": "\(alerts.count)",
            "firing": "\(firing)",
            "summary": annotations["summary"] ?? lines(of: alerts, annotations),
            "description": annotations["description"] ?? "", "instance": labels["instance"] ?? "",
            "url": publication.link ?? "",
        ].mapValues { $0.cut(toBytes: bodyBytesMax) }
        return publication
    }

    private static let linesMax = 8
    /// Lengths that fit on every platform: a long alert is better cut than refused, since its sender forgets it then.
    private static let (titleBytesMax, bodyBytesMax) = (256, 2_048)

    /// A line for each alert, of its summary or its labels.
    private static func lines(of alerts: [JSONValue], _ common: [String: String]) -> String {
        if alerts.count > 1, let summary = common["summary"] { return summary }
        var lines = alerts.prefix(linesMax).map { alert in
            let (notes, labels) = (texts(alert["annotations"]), texts(alert["labels"]))
            let own = notes["summary"] ?? notes["description"] ?? notes["message"]
            return own ?? labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        }
        if alerts.count > linesMax { lines.append("and \(alerts.count - linesMax) more") }
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
