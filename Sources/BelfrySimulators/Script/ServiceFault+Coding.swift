extension ServiceFault.Then {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case answer, delay, hang, stall, reset, close, goAway, maxStreams, refuseHandshake
    }

    private struct Delay: Codable { var milliseconds: Int }
    private struct Told: Codable { var told: Bool? }
    private struct Reset: Codable {
        var code: UInt32?
        var told: Bool?
    }
    private struct Streams: Codable { var streams: UInt32 }
    private struct Alert: Codable { var alert: UInt8? }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard container.allKeys.count == 1, let key = container.allKeys.first else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "is not one of \(CodingKeys.allCases.map(\.rawValue).joined(separator: ", "))"))
        }
        switch key {
        case .answer: self = .answer(try container.decode(ScriptedAnswer.self, forKey: key))
        case .delay: self = .delay(milliseconds: try container.decode(Delay.self, forKey: key).milliseconds)
        case .hang: self = .hang(told: try container.decode(Told.self, forKey: key).told)
        case .stall: self = .stall(told: try container.decode(Told.self, forKey: key).told)
        case .reset:
            let reset = try container.decode(Reset.self, forKey: key)
            self = .reset(code: reset.code, told: reset.told)
        case .close: self = .close(told: try container.decode(Told.self, forKey: key).told)
        case .goAway: self = .goAway(try container.decode(ServiceFault.GoAway.self, forKey: key))
        case .maxStreams: self = .maxStreams(streams: try container.decode(Streams.self, forKey: key).streams)
        case .refuseHandshake: self = .refuseHandshake(alert: try container.decode(Alert.self, forKey: key).alert)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .answer(let answer): try container.encode(answer, forKey: .answer)
        case .delay(let milliseconds): try container.encode(Delay(milliseconds: milliseconds), forKey: .delay)
        case .hang(let told): try container.encode(Told(told: told), forKey: .hang)
        case .stall(let told): try container.encode(Told(told: told), forKey: .stall)
        case .reset(let code, let told): try container.encode(Reset(code: code, told: told), forKey: .reset)
        case .close(let told): try container.encode(Told(told: told), forKey: .close)
        case .goAway(let goAway): try container.encode(goAway, forKey: .goAway)
        case .maxStreams(let streams): try container.encode(Streams(streams: streams), forKey: .maxStreams)
        case .refuseHandshake(let alert): try container.encode(Alert(alert: alert), forKey: .refuseHandshake)
        }
    }
}
