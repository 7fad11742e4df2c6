/// A registration of Azure Notification Hubs, a line of XML of its export.
///
/// Source: learn.microsoft.com, "Export and import Azure Notification Hubs registrations in bulk", and "Create Registration" of the
/// REST API for the elements of each kind.
struct AzureImport: ImportRowParser {
    func row(_ bytes: [UInt8]) throws(InvalidInput) -> ImportRow {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw InvalidInput(field: "row", "is no UTF-8")
        }
        guard let service = Self.services.first(where: { text.contains("<\($0.element)") }) else {
            throw InvalidInput(field: "row", "is no RegistrationDescription of a provider that is known")
        }
        var row = ImportRow()
        row.kinds = service.kinds
        row.token = try Self.element(service.token, of: text) ?? ""
        // An id such as 8247220326459738692-7748251457295450541-4 names no device to an app.
        let list = try Self.element("Tags", of: text) ?? ""
        let tags = list.split(separator: ",").map { String($0.drop { $0 == " " }) }
        row.customUserID = Self.id("$UserId:", in: tags)
        row.id = Self.id("$InstallationId:", in: tags)
        // A handle may have several registrations, each with its own tags.
        row.addedTopics = tags.filter { !$0.hasPrefix("$") }
        return row
    }

    /// Source: "Registration management": an installation has the tags `$InstallationId:{…}` and `$UserId:{…}`.
    private static func id(_ name: String, in tags: [String]) -> String? {
        tags.first { $0.hasPrefix(name) }.map { tag in
            let id = tag.dropFirst(name.count)
            return String(id.hasPrefix("{") && id.hasSuffix("}") ? id.dropFirst().dropLast() : id)
        }
    }

    private struct Service {
        let element: String
        let token: String
        let kinds: [PlatformKind]
    }

    /// A template registration is named otherwise, and has the same element for its token.
    private static let services = ["RegistrationDescription", "TemplateRegistrationDescription"].flatMap { suffix in
        [
            Service(element: "Apple\(suffix)", token: "DeviceToken", kinds: [.ios]),
            Service(element: "FcmV1\(suffix)", token: "FcmV1RegistrationId", kinds: [.androidFCM, .android]),
            Service(element: "Gcm\(suffix)", token: "GcmRegistrationId", kinds: [.androidFCM, .android]),
            Service(element: "Adm\(suffix)", token: "AdmRegistrationId", kinds: [.amazon]),
            Service(element: "Baidu\(suffix)", token: "BaiduChannelId", kinds: [.androidBaidu]),
            Service(element: "Windows\(suffix)", token: "ChannelUri", kinds: [.windows8]),
            Service(element: "Mpns\(suffix)", token: "ChannelUri", kinds: [.windowsPhone]),
        ]
    }

    /// The text of an element without attributes and children; nil where there is none.
    private static func element(_ name: String, of xml: String) throws(InvalidInput) -> String? {
        guard let start = xml.firstRange(of: "<\(name)>") else { return nil }
        guard let end = xml[start.upperBound...].firstRange(of: "</\(name)>") else {
            throw InvalidInput(field: name, "is not closed")
        }
        let text = xml[start.upperBound..<end.lowerBound]
        guard !text.contains("<") else { throw InvalidInput(field: name, "has elements inside") }
        return [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
            .reduce(String(text)) { $0.replacing($1.0, with: $1.1) }
    }
}
