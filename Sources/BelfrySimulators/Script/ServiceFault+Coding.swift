extension ServiceFault.Then {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case answer, delay, hang, stall, silence, reset, close, loseAnswers, goAway, maxStreams, refuseHandshake
    }

    private struct Delay: Codable { var milliseconds: Int }
    private struct Told: Codable { var told: Bool? }
    private struct Reset: Codable {
        var code: UInt32?
        var told: Bool?
    }
    private struct Count: Codable { var count: Int }
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
        case .silence: self = .silence(told: try container.decode(Told.self, forKey: key).told)
        case .loseAnswers: self = .loseAnswers(count: try container.decode(Count.self, forKey: key).count)
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
        case .silence(let told): try container.encode(Told(told: told), forKey: .silence)
        case .loseAnswers(let count): try container.encode(Count(count: count), forKey: .loseAnswers)
        case .reset(let code, let told): try container.encode(Reset(code: code, told: told), forKey: .reset)
        case .close(let told): try container.encode(Told(told: told), forKey: .close)
        case .goAway(let goAway): try container.encode(goAway, forKey: .goAway)
        case .maxStreams(let streams): try container.encode(Streams(streams: streams), forKey: .maxStreams)
        case .refuseHandshake(let alert): try container.encode(Alert(alert: alert), forKey: .refuseHandshake)
        }
    }
}

extension ServiceFault.LastStream: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int32.self) {
            self = .exactly(number)
            return
        }
        switch try container.decode(String.self) {
        case "all": self = .all
        case "before": self = .before
        case "half": self = .half
        case "none": self = .none
        case let other:
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "\(other) is not all, before, half, none or a number")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .all: try container.encode("all")
        case .before: try container.encode("before")
        case .half: try container.encode("half")
        case .none: try container.encode("none")
        case .exactly(let number): try container.encode(number)
        }
    }
}
