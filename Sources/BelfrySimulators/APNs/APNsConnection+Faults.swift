import CNghttp2
import Foundation

/// What the script does to a request.
extension APNsConnection {
    /// Whether the request is to be answered; its verdict then stands in the exchange.
    func goesOn(_ exchange: UnsafeMutablePointer<Exchange>, delay: inout Int64) -> Bool {
        if answersToLose != nil { return loseAnswer(of: exchange) }
        if let stickyVerdict {
            exchange.pointee.verdict = stickyVerdict
            return true
        }
        let occasion = ArmedFault.Occasion(
            connection: ordinal, request: requestsSeen, token: exchange.pointee.token, topic: exchange.pointee.topic)
        var answered = false
        for armed in playbook.faults where !answered && !armed.fault.then.isForHandshake && armed.strikes(occasion) {
            switch armed.fault.then {
            case .answer(let status, let reason, let timestamp, let sticky):
                let verdict = APNsVerdict(status: status, reason: reason, timestamp: timestamp)
                if sticky == true { stickyVerdict = verdict }
                exchange.pointee.verdict = status == 200 ? nil : verdict
                answered = true
            case .delay(let milliseconds): delay = Int64(milliseconds)
            case .maxStreams(let streams): submitSettings(streamsAtOnceMax: streams)
            case .goAway(let last, let reason, let code, let noticeFirst):
                let lastStream = self.lastStream(last ?? .all, before: exchange)
                goAway(lastStream, reason: reason, code: code ?? 0, noticeFirst: noticeFirst ?? false)
                if exchange.pointee.streamID > lastStream { return false }
            case .reset(let code, let told): return reset(exchange, code: code, told: told ?? false)
            case .stall(let told): return stall(exchange, told: told ?? true)
            case .silence(let told): return fallSilent(exchange, told: told ?? true)
            case .close(let told): return close(exchange, told: told ?? false)
            case .loseAnswers(let count):
                answersToLose = count
                return loseAnswer(of: exchange)
            case .refuseHandshake: break
            }
        }
        if !answered { exchange.pointee.verdict = verdict(on: exchange) }
        return true
    }
}

// MARK: - Faults that leave the request unanswered

extension APNsConnection {
    private func reset(_ exchange: UnsafeMutablePointer<Exchange>, code: UInt32, told: Bool) -> Bool {
        if told { tellUnanswered(exchange) }
        exchange.pointee.isAnswered = true
        nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), exchange.pointee.streamID, code)
        station.ledger.recordConnection { $0.resetsSent += 1 }
        return false
    }

    private func stall(_ exchange: UnsafeMutablePointer<Exchange>, told: Bool) -> Bool {
        if told { tellUnanswered(exchange) }
        exchange.pointee.isAnswered = true
        exchange.pointee.isStalled = true
        let fields = headerFields(for: exchange, status: 200)
        var provider = Self.body(of: exchange)
        nghttp2_submit_response(session, exchange.pointee.streamID, fields.baseAddress, fields.count, &provider)
        station.ledger.recordConnection { $0.unanswered += 1 }
        return false
    }

    private func fallSilent(_ exchange: UnsafeMutablePointer<Exchange>, told: Bool) -> Bool {
        if told { tellUnanswered(exchange) }
        // What was answered before this request still leaves with the batch it came in.
        mustFallSilent = true
        station.ledger.recordConnection { $0.unanswered += 1 }
        return false
    }

    private func close(_ exchange: UnsafeMutablePointer<Exchange>, told: Bool) -> Bool {
        if told { tellUnanswered(exchange) }
        mustClose = true
        return false
    }

    private func loseAnswer(of exchange: UnsafeMutablePointer<Exchange>) -> Bool {
        tellUnanswered(exchange)
        station.ledger.recordConnection { $0.unanswered += 1 }
        let left = (answersToLose ?? 1) - 1
        answersToLose = left
        if left == 0 { mustClose = true }
        return false
    }

    /// The device is told if the request is one APNs would have taken.
    private func tellUnanswered(_ exchange: UnsafeMutablePointer<Exchange>) {
        if verdict(on: exchange) == nil { tell(exchange) }
    }
}

// MARK: - GOAWAY

extension APNsConnection {
    func lastStream(_ wanted: APNsFault.LastStream, before exchange: UnsafeMutablePointer<Exchange>?) -> Int32 {
        switch wanted {
        case .all: return lastStreamSeen
        case .before: return max(0, (exchange?.pointee.streamID ?? lastStreamSeen + 2) - 2)
        case .none: return 0
        case .exactly(let stream): return stream
        case .half:
            let waiting = waiting
            return waiting.isEmpty ? lastStreamSeen : waiting[(waiting.count - 1) / 2].pointee.streamID
        }
    }

    /// Says GOAWAY. Devices of streams behind the last one were not told after all; nghttp2 closes those streams.
    func goAway(_ lastStream: Int32, reason: String?, code: UInt32, noticeFirst: Bool) {
        guard let session else { return }
        lastStreamTaken = min(lastStreamTaken, lastStream)
        if noticeFirst { nghttp2_submit_shutdown_notice(session) }
        for exchange in waiting where exchange.pointee.streamID > lastStream {
            if exchange.pointee.isTold {
                station.ledger.takeBack(
                    exchange.pointee.token, hash: exchange.pointee.tokenHash, id: exchange.pointee.idHash)
            }
            exchange.pointee.isTold = false
        }
        let data = Array((reason.map { #"{"reason":"\#($0)"}"# } ?? "").utf8)
        nghttp2_submit_goaway(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), lastStream, code, data, data.count)
        station.ledger.recordConnection { $0.goAwaysSent += noticeFirst ? 2 : 1 }
    }
}

extension APNsFault.Then {
    var isForHandshake: Bool {
        if case .refuseHandshake = self { true } else { false }
    }
}
