// Replies of the admin API about Acrobits' softphones.

extension Admin {
    /// A new reporter. Its key is shown once.
    package struct AcrobitsReporterReply: Codable, Sendable {
        package let endpoint_id: Int64
        package let key: String
        /// The end of `pushTokenReporterUrl`, behind the address of this server; has the usual names where no template was given.
        package let url: String
        /// The account's user name and password for web services, where the reporter asks for Digest authentication.
        @OrNull package var username: String?
        @OrNull package var password: String?

        init(_ endpoint: OpenEndpoint, key: String, digest: Acrobits.Digest?) {
            endpoint_id = endpoint.key.rawValue
            self.key = key
            url = "/\(Acrobits.root)/\(key)/\(Self.rest(endpoint.options[AcrobitsOption.template]))"
            _username = OrNull(wrappedValue: digest?.user)
            _password = OrNull(wrappedValue: digest?.password)
        }

        private static let usual =
            "?username=%account[username]%&selector=%selector%&token_calls=%pushTokenIncomingCall%"
            + "&appid_calls=%pushappid_incoming_call%&token_msgs=%pushTokenOther%&appid_msgs=%pushappid_other%"

        /// The part of the address behind the key: the template's own where it has one.
        private static func rest(_ template: String?) -> String {
            guard let first = template?.split(whereSeparator: \.isNewline).first else { return usual }
            if first.hasPrefix("{") || !first.contains("/") && !first.contains("?") { return "" }
            return String(first.drop { $0 == "/" })
        }
    }

    package struct AcrobitsMediatorReply: Codable, Sendable {
        package let endpoint_id: Int64
        package let allowed: [String]
        package let dead_token_status: Int
        package let plain_path: Bool
        package let paths: [String]

        init(_ endpoint: OpenEndpoint, key: String) {
            endpoint_id = endpoint.key.rawValue
            allowed = endpoint.allowed
            dead_token_status = endpoint.options[AcrobitsOption.notFound] == nil ? 200 : 404
            plain_path = endpoint.isPlain
            paths = ["/pnm2/\(key)/send", "/pnm2/\(key)"] + (endpoint.isPlain ? ["/pnm2/send", "/pnm2"] : [])
        }
    }

    package struct AcrobitsAppIDsReply: Codable, Sendable {
        package let app_ids: [AcrobitsAppIDReply]
    }

    package struct AcrobitsAppIDReply: Codable, Sendable {
        package let app_id: String
        package let platform_uuid: String
        package let type: String
        package let has_payload: Bool

        init(_ appID: AcrobitsAppID, _ platform: Platform) {
            app_id = appID.name
            platform_uuid = platform.uuid.lowercased
            type = platform.kind.rawValue
            has_payload = appID.payload != nil
        }
    }

    /// An account on a softphone.
    package struct AcrobitsSelectorReply: Codable, Sendable {
        package let selector: String
        @OrNull package var account: String?
        package let devices: [Device]

        package struct Device: Codable, Sendable {
            package let app_id: String
            package let device_uuid: String
            package let token: String
            package let seen_at: String
        }

        init(_ selector: String, _ registrations: [AcrobitsRegistration]) {
            self.selector = selector
            devices = registrations.map {
                Device(
                    app_id: $0.appID, device_uuid: $0.device.lowercased, token: $0.token, seen_at: $0.seenAt.text)
            }
            _account = OrNull(wrappedValue: registrations.compactMap(\.account).first)
        }
    }
}
