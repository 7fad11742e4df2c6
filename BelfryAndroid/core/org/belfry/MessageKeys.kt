package org.belfry

import java.math.BigInteger
import java.security.GeneralSecurityException
import java.security.KeyFactory
import java.security.KeyPairGenerator
import java.security.PrivateKey
import java.security.SecureRandom
import java.security.interfaces.ECPublicKey
import java.security.spec.ECGenParameterSpec
import java.security.spec.ECParameterSpec
import java.security.spec.ECPoint
import java.security.spec.ECPublicKeySpec
import java.security.spec.PKCS8EncodedKeySpec
import javax.crypto.Cipher
import javax.crypto.KeyAgreement
import javax.crypto.Mac
import javax.crypto.spec.GCMParameterSpec
import javax.crypto.spec.SecretKeySpec

/** Seals small secrets with a key that never leaves this phone. */
interface Seal {
    fun seal(secret: ByteArray): ByteArray

    /** null for what another phone sealed. */
    fun open(sealed: ByteArray): ByteArray?
}

/** The public part of a device's keys, in Base64 for URLs. */
data class EncryptionKeys(val p256dh: String, val auth: String)

/**
 * The keys by which senders encrypt messages for this device, so that no server between can read them.
 *
 * Source: RFC 8291, with the content coding aes128gcm of RFC 8188, and the draft before it, aesgcm, which Mastodon sends.
 */
internal class MessageKeys private constructor(private val key: PrivateKey, private val point: ByteArray, private val secret: ByteArray) {
    /** The public key, an uncompressed point of P-256, in Base64 for URLs. */
    val p256dh: String get() = point.inBase64()
    /** The secret that senders have to know besides, in Base64 for URLs. */
    val authText: String get() = secret.inBase64()

    internal fun bytes(): ByteArray = point + secret + key.encoded

    /** Decrypts a message of one record; null for one that is damaged, or meant for other keys. */
    fun decrypt(message: ByteArray): ByteArray? {
        if (message.size !in headerBytes + 1 + tagBytes..messageBytesMax || message[20].toInt() != pointBytes) return null
        val recordBytes = BigInteger(1, message.copyOfRange(16, 20)).toLong()
        if (recordBytes < tagBytes + 2 || message.size - headerBytes > recordBytes) return null
        val sender = message.copyOfRange(21, headerBytes)
        return checked {
            val information = "WebPush: info\u0000".toByteArray() + point + sender
            val opened = open(message.copyOfRange(headerBytes, message.size), sender, message.copyOf(16), information, "aes128gcm", ByteArray(0))
            // Behind the text stand a 2, since it is the last record, and zeros.
            val end = opened.indexOfLast { it.toInt() != 0 }
            if (end >= 0 && opened[end].toInt() == 2) opened.copyOf(end) else null
        }
    }

    /** Decrypts the older form, whose salt and key stand in the headers `Encryption` and `Crypto-Key`. Source: draft-ietf-webpush-encryption-04. */
    fun decryptOlder(message: ByteArray, encryption: String, cryptoKey: String): ByteArray? {
        val salt = parameter(encryption, "salt")?.fromBase64() ?: return null
        val sender = parameter(cryptoKey, "dh")?.fromBase64() ?: return null
        if (salt.size != 16 || message.size !in 2 + tagBytes..messageBytesMax) return null
        return checked {
            val context = "P-256\u0000".toByteArray() + counted(point) + counted(sender)
            val opened = open(message, sender, salt, "Content-Encoding: auth\u0000".toByteArray(), "aesgcm", context)
            // Before the text stand the number of zeros, and these.
            val padding = BigInteger(1, opened.copyOf(2)).toInt()
            if (2 + padding <= opened.size) opened.copyOfRange(2 + padding, opened.size) else null
        }
    }

    private fun open(
        sealed: ByteArray, sender: ByteArray, salt: ByteArray, information: ByteArray, coding: String, context: ByteArray
    ): ByteArray {
        val agreement = KeyAgreement.getInstance("ECDH")
        agreement.init(key)
        agreement.doPhase(publicKey(sender), true)
        val shared = derive(agreement.generateSecret(), secret, information, 32)
        val name = { part: String -> "Content-Encoding: $part\u0000".toByteArray() + context }
        val cipher = Cipher.getInstance("AES/GCM/NoPadding")
        cipher.init(
            Cipher.DECRYPT_MODE, SecretKeySpec(derive(shared, salt, name(coding), 16), "AES"),
            GCMParameterSpec(8 * tagBytes, derive(shared, salt, name("nonce"), 12)))
        return cipher.doFinal(sealed)
    }

    companion object {
        private const val pointBytes = 65
        private const val secretBytes = 16
        private const val tagBytes = 16
        private const val headerBytes = 16 + 4 + 1 + pointBytes
        private const val messageBytesMax = 65_536

        fun make(): MessageKeys {
            val generator = KeyPairGenerator.getInstance("EC")
            generator.initialize(ECGenParameterSpec("secp256r1"))
            val pair = generator.generateKeyPair()
            val point = (pair.public as ECPublicKey).w
            val secret = ByteArray(secretBytes)
            SecureRandom().nextBytes(secret)
            return MessageKeys(pair.private, byteArrayOf(4) + coordinate(point.affineX) + coordinate(point.affineY), secret)
        }

        /** Reads what [bytes] wrote; null for anything else. */
        internal fun of(bytes: ByteArray): MessageKeys? = checked {
            val key = KeyFactory.getInstance("EC").generatePrivate(PKCS8EncodedKeySpec(bytes.copyOfRange(pointBytes + secretBytes, bytes.size)))
            MessageKeys(key, bytes.copyOf(pointBytes), bytes.copyOfRange(pointBytes, pointBytes + secretBytes))
        }

        /** null where the message, or a key, is wrong. */
        private fun <Value> checked(work: () -> Value?): Value? = try {
            work()
        } catch (error: GeneralSecurityException) {
            null
        } catch (error: IllegalArgumentException) {
            null
        } catch (error: IndexOutOfBoundsException) {
            null
        }

        /** 32 bytes, whatever the length of the number. */
        private fun coordinate(number: BigInteger): ByteArray {
            val bytes = number.toByteArray()
            return ByteArray(maxOf(0, 32 - bytes.size)) + bytes.copyOfRange(maxOf(0, bytes.size - 32), bytes.size)
        }

        /** Throws where the bytes are no point of the curve: such a one would tell something of the private key. */
        private fun publicKey(bytes: ByteArray): ECPublicKey {
            require(bytes.size == pointBytes && bytes[0].toInt() == 4)
            val x = BigInteger(1, bytes.copyOfRange(1, 33))
            val y = BigInteger(1, bytes.copyOfRange(33, pointBytes))
            // Source: SEC 2 §2.4.2, y² = x³ - 3x + b.
            val prime = BigInteger("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff", 16)
            val b = BigInteger("5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b", 16)
            require(x < prime && y < prime)
            require(y * y % prime == (x * x * x + b + prime * BigInteger.valueOf(3) - x * BigInteger.valueOf(3)).mod(prime))
            return KeyFactory.getInstance("EC").generatePublic(ECPublicKeySpec(ECPoint(x, y), curve)) as ECPublicKey
        }

        private val curve: ECParameterSpec by lazy {
            val generator = KeyPairGenerator.getInstance("EC")
            generator.initialize(ECGenParameterSpec("secp256r1"))
            (generator.generateKeyPair().public as ECPublicKey).params
        }

        /** HKDF with SHA-256, of at most 32 bytes. Source: RFC 5869. */
        private fun derive(input: ByteArray, salt: ByteArray, information: ByteArray, bytes: Int): ByteArray =
            mac(mac(salt, input), information + byteArrayOf(1)).copyOf(bytes)

        private fun mac(key: ByteArray, text: ByteArray): ByteArray {
            val mac = Mac.getInstance("HmacSHA256")
            mac.init(SecretKeySpec(key, "HmacSHA256"))
            return mac.doFinal(text)
        }

        private fun counted(bytes: ByteArray) = byteArrayOf((bytes.size shr 8).toByte(), bytes.size.toByte()) + bytes

        /** A parameter of a header such as `keyid=p256dh;salt=…`. */
        private fun parameter(header: String, name: String): String? = header.split(';', ',')
            .map { it.trim() }.firstOrNull { it.startsWith("$name=") }?.substring(name.length + 1)?.trim('"')
    }
}
