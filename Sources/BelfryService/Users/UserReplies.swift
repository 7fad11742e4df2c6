import FoundationEssentials

extension Admin {
    package struct UsersReply: Codable, Sendable {
        package let users: [UserReply]
        @OrNull package var next_cursor: String?
    }

    /// Attributes stay as they are: any JSON of `UserAttribute`.
    package struct UserReply: Codable, Sendable {
        package let user_id: String
        @OrNull package var language: String?
        @OrNull package var time_zone: String?
        package let attributes: [String: AttributeReply]
        /// null of a user whom only devices name.
        @OrNull package var created_at: String?
        @OrNull package var updated_at: String?
        /// Shown of one user alone: the active ones.
        package let devices: [UserDeviceReply]?

        init(_ user: User, devices: [UserDeviceReply]? = nil) {
            user_id = user.id
            attributes = user.profile.attributes.mapValues(AttributeReply.init)
            self.devices = devices
            language = user.profile.language
            time_zone = user.profile.timeZone
            created_at = user.createdAt?.text
            updated_at = user.updatedAt?.text
        }
    }

    package struct UserDeviceReply: Codable, Sendable {
        package let device_uuid: String
        package let platform_uuid: String
        package let type: String
        package let registered_at: String

        init(_ device: Device, on platform: Platform) {
            device_uuid = device.uuid.lowercased
            platform_uuid = platform.uuid.lowercased
            type = platform.kind.rawValue
            registered_at = device.registeredAt.text
        }
    }

    /// A text, a number, a flag or `{"time": …}`.
    package enum AttributeReply: Codable, Sendable {
        case text(String)
        case number(Double)
        case flag(Bool)
        case time(String)

        private enum CodingKeys: String, CodingKey { case time }

        init(_ attribute: UserAttribute) {
            self =
                switch attribute {
                case .text(let text): .text(text)
                case .number(let number): .number(number)
                case .flag(let flag): .flag(flag)
                case .time(let time): .time(time.text)
                }
        }

        package init(from decoder: any Decoder) throws {
            if let object = try? decoder.container(keyedBy: CodingKeys.self) {
                self = .time(try object.decode(String.self, forKey: .time))
                return
            }
            let value = try decoder.singleValueContainer()
            if let flag = try? value.decode(Bool.self) {
                self = .flag(flag)
            } else if let number = try? value.decode(Double.self) {
                self = .number(number)
            } else {
                self = .text(try value.decode(String.self))
            }
        }

        package func encode(to encoder: any Encoder) throws {
            if case .time(let time) = self {
                var object = encoder.container(keyedBy: CodingKeys.self)
                return try object.encode(time, forKey: .time)
            }
            var value = encoder.singleValueContainer()
            switch self {
            case .text(let text): try value.encode(text)
            case .number(let number): try value.encode(number)
            case .flag(let flag): try value.encode(flag)
            case .time: break
            }
        }
    }

    package struct OpenEndpointsReply: Codable, Sendable {
        package let open_endpoints: [OpenEndpointReply]
    }

    package struct OpenEndpointReply: Codable, Sendable {
        package let endpoint_id: Int64
        package let kind: String
        package let allowed: [String]
        package let options: [String: String]
        /// Whether the path without a key leads there too.
        package let plain_path: Bool
        package let created_at: String
        /// Told once.
        package let key: String?

        init(_ endpoint: OpenEndpoint, key: String? = nil) {
            endpoint_id = endpoint.key.rawValue
            kind = endpoint.kind.rawValue
            allowed = endpoint.allowed
            options = endpoint.options
            plain_path = endpoint.isPlain
            created_at = endpoint.createdAt.text
            self.key = key
        }
    }

    package struct GatewayCredentialsReply: Codable, Sendable {
        package let gateway_credentials: [GatewayCredentialReply]
    }

    package struct GatewayCredentialReply: Codable, Sendable {
        package let credential_id: Int64
        package let fingerprint: String
        @OrNull package var expires_at: String?
        package let created_at: String

        init(_ credential: GatewayCredential) {
            credential_id = credential.key.rawValue
            fingerprint = credential.fingerprint.hex
            created_at = credential.createdAt.text
            expires_at = credential.expiresAt?.text
        }
    }
}
