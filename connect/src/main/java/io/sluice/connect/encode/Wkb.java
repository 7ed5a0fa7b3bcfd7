package io.sluice.connect.encode;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads well-known binary, PostGIS's extension of it included, as GeoJSON. Source: OGC 06-103r4, section 8.2. */
final class Wkb {
    private static final int HAS_Z = 0x8000_0000;
    private static final int HAS_M = 0x4000_0000;
    private static final int HAS_SRID = 0x2000_0000;
    private static final int COLLECTION = 7;
    private static final String[] NAMES = {
        null, "Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection"
    };

    /** A collection in a collection in … */
    private static final int MOST_LEVELS = 16;

    private final ByteBuffer bytes;
    private int axes;
    private boolean hasZ;

    private Wkb(byte[] bytes) {
        this.bytes = ByteBuffer.wrap(bytes);
    }

    static Map<String, Object> toGeoJson(byte[] wkb) throws UnwritableException {
        try {
            Wkb reader = new Wkb(wkb);
            Map<String, Object> geometry = reader.geometry(0);
            if (!reader.bytes.hasRemaining()) {
                return geometry;
            }
        } catch (RuntimeException cutOff) {
            // Said below: bytes are missing, as they are too many here.
        }
        throw new UnwritableException("got " + wkb.length + " bytes that are no WKB, expected a geometry in WKB");
    }

    static Map<String, Object> point(double x, double y) {
        return geometry(1, List.of(x, y));
    }

    private static Map<String, Object> geometry(int type, Object contents) {
        Map<String, Object> geometry = new LinkedHashMap<>();
        geometry.put("type", NAMES[type]);
        geometry.put(type == COLLECTION ? "geometries" : "coordinates", contents);
        return geometry;
    }

    private Map<String, Object> geometry(int level) throws UnwritableException {
        int type = header();
        return geometry(type, contents(type, level));
    }

    /** The kind of the geometry that follows, whose axes are noted. */
    private int header() throws UnwritableException {
        bytes.order(bytes.get() == 0 ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
        int code = bytes.getInt();
        if ((code & HAS_SRID) != 0) {
            bytes.getInt();
        }
        int plain = code & ~(HAS_Z | HAS_M | HAS_SRID);
        int dimension = plain / 1_000;
        hasZ = (code & HAS_Z) != 0 || dimension == 1 || dimension == 3;
        boolean hasM = (code & HAS_M) != 0 || dimension >= 2;
        axes = 2 + (hasZ ? 1 : 0) + (hasM ? 1 : 0);
        int type = plain % 1_000;
        if (type < 1 || type > COLLECTION || dimension > 3) {
            throw new UnwritableException("got a WKB geometry of type " + Integer.toUnsignedString(plain)
                    + ", expected one that GeoJSON has (1 to 7)");
        }
        return type;
    }

    private Object contents(int type, int level) throws UnwritableException {
        switch (type) {
            case 1:
                return position();
            case 2:
                return positions();
            case 3:
                return rings();
            default:
                return parts(type == COLLECTION, level + 1);
        }
    }

    private List<Object> position() {
        List<Object> position = new ArrayList<>(3);
        for (int axis = 0; axis < axes; axis++) {
            double coordinate = bytes.getDouble();
            if (axis < 2 || axis == 2 && hasZ) {
                position.add(coordinate);
            }
        }
        return position;
    }

    private List<Object> positions() {
        int count = count(Double.BYTES);
        List<Object> positions = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            positions.add(position());
        }
        return positions;
    }

    private List<Object> rings() {
        int count = count(Integer.BYTES);
        List<Object> rings = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            rings.add(positions());
        }
        return rings;
    }

    private List<Object> parts(boolean named, int level) throws UnwritableException {
        if (level > MOST_LEVELS) {
            throw new UnwritableException("got WKB collections in each other, expected " + MOST_LEVELS + " at most");
        }
        int count = count(1 + Integer.BYTES);
        List<Object> parts = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            Map<String, Object> part = geometry(level);
            parts.add(named ? part : part.get("coordinates"));
        }
        return parts;
    }

    /** A number that the bytes left can hold: nothing is allocated for one that they cannot. */
    private int count(int leastBytes) {
        int count = bytes.getInt();
        if (count < 0 || count > bytes.remaining() / leastBytes) {
            throw new IllegalArgumentException();
        }
        return count;
    }
}
